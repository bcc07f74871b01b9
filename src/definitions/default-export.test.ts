import { expect, test } from 'vitest'

import { moduleName, otherExport, wordOf } from './default-export.js'

test.each([
  ['look_up.ts', 'look_up'],
  ['orders/[id].post.js', 'orders/[id].post'],
  ['report.json.mjs', 'report.json'],
])('%s holds the definition %s', (path, name) => {
  expect(moduleName(path)).toBe(name)
})

test.each([
  'types.d.ts',
  'look_up.test.ts',
  'look_up.spec.js',
  '.hidden.ts',
  '.folder/look_up.ts',
  'notes.md',
  'a.json',
])('%s holds none', (path) => {
  expect(moduleName(path)).toBeUndefined()
})

test.each([
  [undefined, 'a.ts: expected an agent as default export, got none'],
  [null, 'a.ts: expected an agent as default export, got null'],
  [7, 'a.ts: expected an agent as default export, got a number'],
  [{}, 'a.ts: expected an agent as default export, got an object'],
])('the default export %j is told in words', (value, words) => {
  expect(otherExport('a.ts', 'agent', wordOf(value))).toBe(words)
})
