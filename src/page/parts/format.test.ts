import { expect, test } from 'vitest'

import { formatAge, formatBytes, formatCount, formatDuration, formatJson, shorten } from './format.js'
import { readRoute } from './route.js'

test.each([
  [340, '340 ms'],
  [2_400, '2.4 s'],
  [42_000, '42 s'],
  [200_000, '3 min 20 s'],
  [7_500_000, '2 h 5 min'],
])('%i ms are %s', (milliseconds, text) => expect(formatDuration(milliseconds)).toBe(text))

test('an age is as exact as a person needs it', () => {
  const ages = [10, 90, 7_200, 172_800].map((seconds) => formatAge(0, seconds * 1_000))
  expect(ages).toEqual(['now', '2 min', '2 h', '2 d'])
})

test('counts and sizes are short', () => {
  expect([940, 1_240, 12_400, 999_960].map(formatCount)).toEqual(['940', '1.2k', '12k', '1.0M'])
  expect([12, 1_240, 5_000_000].map(formatBytes)).toEqual(['12 B', '1.2 KB', '5.0 MB'])
})

test('JSON is indented, and any other text stays as it is', () => {
  expect([formatJson('{"a":1}'), formatJson('{"a":')]).toEqual(['{\n  "a": 1\n}', '{"a":'])
  expect(shorten('one\n  two three', 9)).toBe('one two …')
})

test('an address names a view', () => {
  expect(readRoute('#/threads/a%2Fb')).toEqual({ name: 'thread', threadId: 'a/b' })
  expect(readRoute('#/threads/%E0%A4%A')).toEqual({ name: 'thread', threadId: '%E0%A4%A' })
  expect([readRoute('#/new').name, readRoute('#/other').name, readRoute('').name]).toEqual([
    'new',
    'home',
    'home',
  ])
})
