import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { JsonValue } from '../protocol/values.js'
import { digestOf } from './digest.js'

test('the order of keys does not change a digest', () => {
  expect(digestOf({ a: 1, b: { c: [1, 2], d: null } })).toBe(digestOf({ b: { d: null, c: [1, 2] }, a: 1 }))
  expect(digestOf({ a: undefined, b: 1 })).toBe(digestOf({ b: 1 }))
})

test('a digest is the SHA-256 of the sorted JSON, as in the first release', () => {
  const value = { b: [1, 'x"', { d: null, c: true }], a: {}, 10: [], 9: 'é\ud83d', __x: -1.5e300 }
  const sorted = '{"9":"é\\ud83d","10":[],"__x":-1.5e+300,"a":{},"b":[1,"x\\"",{"c":true,"d":null}]}'
  expect(digestOf(value)).toBe(createHash('sha256').update(sorted).digest('hex'))
})

test('T10 a value may be nested as deep as a model likes', () => {
  const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as JsonValue
  expect(digestOf(nested(100_000))).not.toBe(digestOf(nested(99_999)))
})

test('other values have other digests', () => {
  const digests = [{ a: [1, 2] }, { a: [2, 1] }, { a: '1' }, { a: 1 }, {}, [], null, '', 'a'].map(digestOf)
  expect(new Set(digests).size).toBe(digests.length)
})
