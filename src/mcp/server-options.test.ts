import { expect, test } from 'vitest'

import { checkServer } from './server-options.js'

test.each([
  ['nothing', undefined, 'mcpServer: expected { name, command or url, tools }'],
  [
    'no place',
    { name: 'a', tools: 'all' },
    "mcpServer 'a': expected either a command, of a program, or a url",
  ],
  [
    'two places',
    { name: 'a', tools: 'all', command: 'x', url: 'http://a' },
    "mcpServer 'a': expected either a command, of a program, or a url",
  ],
  [
    'a file',
    { name: 'a', tools: 'all', url: 'file:///etc' },
    "mcpServer 'a': expected url as an address that begins with http:// or https://",
  ],
  [
    'no tools',
    { name: 'a', command: 'x' },
    "mcpServer 'a': expected tools as a list of the names that agents may call, or 'all'",
  ],
  [
    'a mistyped field',
    { name: 'a', command: 'x', tools: 'all', arg: [] },
    "mcpServer 'a': has the unknown field arg: did you mean 'args'?",
  ],
  [
    'a field of the other kind',
    { name: 'a', command: 'x', tools: 'all', headers: {} },
    "mcpServer 'a': has the unknown field headers",
  ],
  [
    'a timeout of ten minutes',
    { name: 'a', command: 'x', tools: 'all', timeout: 600_000 },
    "mcpServer 'a': expected timeout as milliseconds from 1 to 290000",
  ],
  [
    'a bad entry',
    { name: 'a', command: 'x', tools: [{ name: 'b', readonly: true }] },
    "mcpServer 'a': tools 'b': has the unknown field readonly: did you mean 'readOnly'?",
  ],
])('%s is refused with what was expected', (_what, options, problem) => {
  expect(() => checkServer(options)).toThrow(problem)
})
