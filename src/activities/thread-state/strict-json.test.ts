import { expect, test } from 'vitest'

import { jsonCopy, jsonObjectCopy, jsonProblem } from './strict-json.js'

test('what JSON can carry has no problem', () => {
  const shared = [1]
  const value = {
    a: [null, true, 'x', -1.5],
    b: shared,
    c: { d: shared, e: undefined },
    'f g': Object.create(null),
  }
  expect(jsonProblem(value, 'value')).toBeUndefined()
  expect(jsonCopy(value, 'value')).toEqual({ a: [null, true, 'x', -1.5], b: [1], c: { d: [1] }, 'f g': {} })
})

test.each([
  ['undefined', undefined, 'value, got undefined'],
  ['a hole in a list', [1, undefined], 'value[1], got undefined'],
  ['an infinite number', { a: Number.POSITIVE_INFINITY }, 'value.a, got Infinity'],
  ['a big integer', { a: 1n }, 'value.a, got a bigint'],
  ['a function', { 'a b': () => 1 }, 'value["a b"], got a function'],
  ['a map', { a: { b: new Map() } }, 'value.a.b, got an object of class Map'],
  ['a symbol as key', { a: { [Symbol('s')]: 1 } }, 'value.a, got a key that is a symbol'],
])('%s is named with its path', (_kind, value, problem) => {
  expect(jsonProblem(value, 'value')).toBe(`Expected JSON at ${problem}.`)
})

test('a value that contains itself is named', () => {
  const value: Record<string, unknown> = { list: [] }
  value['list'] = [value]
  expect(jsonProblem(value, 'value')).toBe(
    'Expected JSON at value.list[0], got an object that contains itself.',
  )
})

test('a value without a bottom is refused', () => {
  let value: unknown = 1
  for (let level = 0; level < 100_000; level++) value = [value]
  expect(jsonProblem(value, 'value')).toMatch(/^Expected JSON of at most 500 levels/)
})

test('a list is no object', () => {
  expect(() => jsonObjectCopy([], 'metadata')).toThrow('Expected metadata to be an object, got a list.')
})

test.each([
  ['a proxy', new Proxy({}, { ownKeys: () => expect.fail('It was read.') })],
  ['a getter', Object.defineProperty({}, 'a', { enumerable: true, get: () => expect.fail('It was read.') })],
])('%s that throws is no JSON, and no error of ours', (_what, value) => {
  expect(jsonProblem({ value }, 'context')).toBe(
    'Expected JSON at context, got something that throws when it is read.',
  )
})
