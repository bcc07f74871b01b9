import { expect, test } from 'vitest'

import { digestOf } from './digest.js'

test('the order of keys does not change a digest', () => {
  expect(digestOf({ a: 1, b: { c: [1, 2], d: null } })).toBe(digestOf({ b: { d: null, c: [1, 2] }, a: 1 }))
  expect(digestOf({ a: undefined, b: 1 })).toBe(digestOf({ b: 1 }))
})

test('other values have other digests', () => {
  const digests = [{ a: [1, 2] }, { a: [2, 1] }, { a: '1' }, { a: 1 }, {}, [], null, '', 'a'].map(digestOf)
  expect(new Set(digests).size).toBe(digests.length)
})
