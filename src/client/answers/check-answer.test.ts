import { expect, test } from 'vitest'
import { hasOneForm } from './check-answer.js'

test.each([
  [{ approved: true }, true],
  [{ env: {}, by: 'ben' }, true],
  [{ approved: false, result: {} }, false],
  [{ approved: undefined }, false],
  [null, false],
  ['yes', false],
])('an answer has a form, and only one: %j', (answer, expected) => {
  expect(hasOneForm(answer)).toBe(expected)
})
