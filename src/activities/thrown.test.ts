import { expect, test } from 'vitest'

import { readThrown } from './thrown.js'

test('an error keeps its message and its stack', () => {
  const error = new Error('It broke.')
  expect(readThrown(error)).toEqual({ message: 'It broke.', stack: error.stack })
})

test.each<readonly [string, unknown, string]>([
  ['a text', 'No.', 'No.'],
  ['nothing', null, 'null'],
  ['a symbol', Symbol('s'), 'Symbol(s)'],
  ['an object with a message', { message: 'Refused.', code: 3 }, 'Refused.'],
  ['an object without a message', { code: 3 }, '{"code":3}'],
  ['an error whose message is an object', Object.assign(new Error(), { message: { code: 3 } }), '{"code":3}'],
  ['an error without a message', Object.assign(new Error(), { message: undefined }), 'Error'],
  ['an object whose JSON is nothing', { toJSON: () => undefined }, 'A value without a message was thrown.'],
  ['an object that cannot be a text', Object.create(null), 'A value without a message was thrown.'],
])('%s becomes a text that a row can hold', (_what, thrown, message) => {
  expect(readThrown(thrown).message).toBe(message)
})

test('a stack that is not a text is left out', () => {
  expect(readThrown(Object.assign(new Error('x'), { stack: 7 }))).toEqual({ message: 'x', stack: null })
})
