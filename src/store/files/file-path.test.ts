import { expect, test } from 'vitest'
import { filePathProblem, folderOf, foldersAbove, nameOf } from './file-checks.js'

test.each([
  '/a',
  '/a/b.txt',
  '/with space/ü😀.md',
  '/.hidden',
  '/...',
  `/${'a'.repeat(255)}`,
  '/äöü'.repeat(146),
])('the path "%s" is fine', (path) => {
  expect(filePathProblem(path)).toBeUndefined()
})

test.each([
  ['', 'does not start with "/"'],
  ['a/b', 'does not start with "/"'],
  ['C:\\a', 'does not start with "/"'],
  ['/', 'an empty name'],
  ['/a/', 'an empty name'],
  ['/a//b', 'an empty name'],
  ['/a/..', '".."'],
  ['/../a', '".."'],
  ['/./a', '"."'],
  ['/a\u0000b', 'control characters'],
  ['/a\nb', 'control characters'],
  ['/\ud83d', 'half a character'],
  [`/${'a'.repeat(256)}`, 'at most 255'],
  ['/abc'.repeat(300), 'at most 1024'],
  ['/äöü'.repeat(147), 'at most 1024 bytes in UTF-8, got 1029'],
])('the path %j is refused with the reason', (path, reason) => {
  expect(filePathProblem(path)).toContain(reason)
})

test('folders above a path are listed from the top', () => {
  expect(foldersAbove('/a/b/c.txt')).toEqual(['/a', '/a/b'])
  expect(foldersAbove('/c.txt')).toEqual([])
  expect([folderOf('/a/b/c.txt'), folderOf('/c.txt')]).toEqual(['/a/b', '/'])
  expect(nameOf('/a/b/c.txt')).toBe('c.txt')
})
