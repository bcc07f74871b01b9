import { expect, test } from 'vitest'
import { checkFileContent, FileError, filePathProblem } from './file-checks.js'

async function* stream() {
  yield Buffer.from('x')
}

test.each([['a text'], [Buffer.from('bytes')], [stream()]])('%s is content of a file', (data) => {
  expect(() => checkFileContent('/a.txt', data, 'text/plain')).not.toThrow()
})

test.each([
  ['no data', undefined, 'text/plain', 'got undefined'],
  ['a number as data', 7, 'text/plain', 'got number'],
  ['a list as data', [1], 'text/plain', 'got object'],
  ['no type', 'x', undefined, 'got undefined'],
  ['an empty type', 'x', '', 'got a text of 0 characters'],
  ['a long type', 'x', 'x'.repeat(256), 'got a text of 256 characters'],
])('a file with %s is refused by name', (_what, data, mimeType, words) => {
  expect(() => checkFileContent('/a.txt', data, mimeType)).toThrow(words)
  expect(() => checkFileContent('/a.txt', data, mimeType)).toThrow(FileError)
})

test('a path that is no string is refused', () => {
  for (const path of [7, null, undefined, {}, ['/a']]) expect(filePathProblem(path)).toContain('got no text')
})
