import { expect, test } from 'vitest'

import { checkServer, connectToolName } from './server-options.js'

const back = { redirectUrl: 'https://app.example.com/back' }

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
  [
    'a login with nowhere to come back to',
    { name: 'a', url: 'https://a', tools: 'all', oauth: {} },
    "mcpServer 'a': oauth: expected redirectUrl as an https address, or an http address of this machine",
  ],
  [
    'a plain page to come back to',
    { name: 'a', url: 'https://a', tools: 'all', oauth: { redirectUrl: 'http://app.example.com/' } },
    "mcpServer 'a': oauth: expected redirectUrl as an https address, or an http address of this machine",
  ],
  [
    'a secret without its issuer',
    { name: 'a', url: 'https://a', tools: 'all', oauth: { ...back, clientId: 'c', clientSecret: 's' } },
    "mcpServer 'a': oauth: expected clientSecret with clientId and issuer",
  ],
  [
    'tokens and logins',
    { name: 'a', url: 'https://a', tools: 'all', tokens: () => 't', oauth: back },
    "mcpServer 'a': oauth: expected either tokens or oauth",
  ],
  [
    'logins of a program',
    { name: 'a', command: 'x', tools: 'all', oauth: back },
    "mcpServer 'a': has the unknown field oauth",
  ],
  [
    'a network that is none',
    { name: 'a', url: 'https://a', tools: 'all', oauth: { ...back, allow: ['10.0.0.0/99'] } },
    "mcpServer 'a': oauth: expected allow as a list of hosts, addresses and networks",
  ],
  [
    'a name that leaves no room for its tool',
    { name: 'a'.repeat(60), url: 'https://a', tools: 'all', oauth: back },
    'oauth: expected a prefix and a name for which "connect_',
  ],
])('%s is refused with what was expected', (_what, options, problem) => {
  expect(() => checkServer(options)).toThrow(problem)
})

test('the tool that connects has the prefix of its server', () => {
  expect(connectToolName({ name: 'tracker', prefix: 'a_' })).toBe('a_connect_tracker')
  expect(connectToolName({ name: 'tracker' })).toBe('connect_tracker')
})
