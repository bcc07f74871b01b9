import { expect, test } from 'vitest'
import { matchesGlob } from './files.js'

const CASES: readonly (readonly [pattern: string, path: string, matches: boolean])[] = [
  ['*.md', '/a.md', true],
  ['*.md', '/deep/er/a.md', true],
  ['*.md', '/a.mdx', false],
  ['a?c', '/x/abc', true],
  ['a?c', '/x/ac', false],
  ['?', '/😀', true],
  ['*', '/x/anything', true],
  ['/*.md', '/a.md', true],
  ['/*.md', '/x/a.md', false],
  ['x/*.md', '/x/a.md', true],
  ['/x/*', '/x/y/z', false],
  ['/**/z', '/z', true],
  ['/**/z', '/x/y/z', true],
  ['/x/**', '/x/y/z', true],
  ['/x/**', '/xy/z', false],
  ['/**/y/**/*.md', '/a/y/b/y/c.md', true],
  ['/**/y/*.md', '/a/y/b/y/c.md', true],
  ['/**/y/*.md', '/a/y/b/c.md', false],
  ['a*b*c', '/aXbYbZc', true],
  ['a*b*c', '/aXbYbZ', false],
  ['[a].(md)', '/[a].(md)', true],
  ['', '/a', false],
]

test.each(CASES)('the pattern "%s" on "%s" gives %s', (pattern, path, matches) => {
  expect(matchesGlob(path, pattern)).toBe(matches)
})

test('a hostile pattern costs no more than a plain one', () => {
  const started = performance.now()
  expect(matchesGlob(`/${'a'.repeat(1000)}`, `${'a*'.repeat(500)}b`)).toBe(false)
  expect(matchesGlob('/a'.repeat(500), `${'/**/a'.repeat(200)}/b`)).toBe(false)
  expect(performance.now() - started).toBeLessThan(10_000)
})
