import { expect, test } from 'vitest'

import { fieldsOf, parseJson, textsOf, valueOf } from './form-values.js'
import type { FormField } from './form-values.js'

const schema = {
  type: 'object',
  properties: {
    order: { type: 'string', description: 'The number' },
    euros: { type: 'number' },
    stars: { type: 'integer', title: 'Stars' },
    again: { type: 'boolean' },
    reason: { enum: ['broken', 'late'] },
    parts: { type: 'array' },
  },
  required: ['order', 'euros'],
}

const fields = fieldsOf(schema) as readonly FormField[]

test('an object has a field for each property, of its own kind', () => {
  expect(fields.map(({ name, kind, isRequired }) => [name, kind, isRequired])).toEqual([
    ['order', 'text', true],
    ['euros', 'number', true],
    ['stars', 'integer', false],
    ['again', 'boolean', false],
    ['reason', 'choice', false],
    ['parts', 'json', false],
  ])
})

test.each([undefined, null, 'text', {}, { type: 'string' }, { properties: 7 }])(
  'the schema %j has no fields, and is written as JSON',
  (one) => expect(fieldsOf(one)).toBeNull(),
)

test('a form that nobody has changed has the value with which it began', () => {
  const value = { order: 'A-17', euros: 4.5, stars: 3, again: true, reason: 'late', parts: [1, { a: 2 }] }
  expect(valueOf(fields, textsOf(fields, value))).toEqual(value)
})

test('an empty field that is optional is left out', () => {
  const texts = { ...textsOf(fields, { order: '', euros: 1 }), stars: '', reason: '' }
  expect(valueOf(fields, texts)).toEqual({ order: '', euros: 1, again: false })
})

test.each([
  [{ euros: 'ten' }, 'Expected "euros" to be a number, got "ten".'],
  [{ stars: '1.5' }, 'Expected "Stars" to be a whole number, got "1.5".'],
  [{ parts: '[1' }, 'Expected "parts" to be JSON, got something else.'],
])('the text %j is refused with a sentence', (texts, sentence) => {
  expect(() => valueOf(fields, texts)).toThrow(sentence)
})

test('what is no JSON is named', () => {
  expect(() => parseJson('{', 'the arguments')).toThrow('Expected the arguments to be JSON')
})
