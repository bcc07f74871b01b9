import { expect, test } from 'vitest'
import { argumentsOf, metadataOf, textOf, tokensOf } from './answer-collector.js'
import { classifyModelError } from './classify-model-error.js'

const ring: { self?: unknown } = {}
ring.self = ring

test.each([
  ['raw text', '{broken', '{broken'],
  ['a parsed object', { a: 1 }, '{"a":1}'],
  ['nothing', undefined, ''],
  ['a ring', ring, ''],
  ['a BigInt', 7n, ''],
])('arguments that are %s are a text', (_what, given, text) => {
  expect(argumentsOf(given)).toBe(text)
})

test('what is no text is an empty one', () => {
  expect([7, null, {}, 'name'].map(textOf)).toEqual(['', '', '', 'name'])
})

test('tokens are whole numbers from zero on', () => {
  const given = [7, 1.6, -5, Number.NaN, Infinity, '7', 7n, null, undefined]
  expect(given.map(tokensOf)).toEqual([7, 2, 0, 0, 1e12, 0, 0, 0, 0])
})

test('metadata is what of it is JSON, by provider', () => {
  expect(metadataOf({ anthropic: { signature: 's' }, other: null, list: [1] })).toEqual({
    anthropic: { signature: 's' },
  })
  expect([metadataOf({ a: ring }), metadataOf({ a: null }), metadataOf('text'), metadataOf(null)]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ])
})

const inItself: { error?: unknown } = {}
inItself.error = inItself
const fails = () => expect.fail('It was read.')

test.each([
  ['throws when it is read', new Proxy({}, { get: fails })],
  ['contains itself', inItself],
  ['has a message that throws', Object.defineProperty(new Error('x'), 'message', { get: fails })],
])('an error that %s is an error all the same', (_what, error) => {
  expect(classifyModelError(error).message).toMatch(/^The provider reported an error/)
})
