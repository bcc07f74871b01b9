import type { JSONSchema7 } from '@ai-sdk/provider'
import { jsonSchema } from 'ai'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { argumentSchemaProblems, propertyProblem, toInputSchema } from './argument-schema.js'
import { checkForeign, foreignSchemaProblem, isForeignSchema } from './foreign-schema.js'
import type { Checked, ForeignSchema, StandardSchema } from './foreign-schema.js'

const object: JSONSchema7 = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
}

/** A schema of a library that is neither zod nor the AI SDK. */
const city: StandardSchema<{ readonly city: string }> = {
  '~standard': {
    version: 1,
    vendor: 'own',
    validate: (value) =>
      typeof value === 'object' && value !== null && 'city' in value
        ? { value: { city: String(value.city) } }
        : { issues: [{ message: 'is missing', path: ['city', { key: 'name' }] }] },
    jsonSchema: { input: () => ({ $schema: 'draft-07', ...object }) },
  },
}
const { jsonSchema: _, ...withoutJsonSchema } = city['~standard']

test('a Standard Schema with a JSON Schema describes and checks arguments', () => {
  expect(isForeignSchema(city)).toBe(true)
  expect(argumentSchemaProblems(city, 'args')).toEqual([])
  expect(toInputSchema(city)).toEqual(object)
  expect(checkForeign(city, { city: 7 })).toEqual({ ok: true, value: { city: '7' } } satisfies Checked)
  expect(checkForeign(city, {})).toEqual({ ok: false, problem: 'city.name: is missing' })
  expect(propertyProblem(city, 'city', 'text')).toBeUndefined()
  expect(propertyProblem(city, 'town', 'text')).toBe("'town' is not one of the arguments: it has city")
})

test('a schema of zod that is no object is refused, one of an object counts', () => {
  expect(foreignSchemaProblem(z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]))).toContain(
    'expected a JSON Schema of an object',
  )
  const record = z.record(z.string(), z.number())
  expect(foreignSchemaProblem(record)).toBeUndefined()
  expect(checkForeign(record, { a: 'x' })).toMatchObject({ ok: false })
})

test('a schema without a JSON Schema says what to do', () => {
  expect(foreignSchemaProblem({ '~standard': withoutJsonSchema })).toContain(
    'wrap it in jsonSchema(…) of the AI SDK',
  )
  expect(foreignSchemaProblem({ _type: 1, jsonSchema: Promise.resolve(object) })).toContain('got a promise')
  expect(foreignSchemaProblem({ _type: 1, jsonSchema: 7 })).toContain('as an object')
  const throwing = { ...city['~standard'], jsonSchema: { input: () => never() } }
  expect(foreignSchemaProblem({ '~standard': throwing })).toBe('it has no JSON Schema: not for draft-07')
})

test('a check that throws or answers later is a problem of the value', () => {
  const later: ForeignSchema = {
    '~standard': { ...city['~standard'], validate: async () => ({ value: { city: 'x' } }) },
  }
  expect(checkForeign(later, {})).toEqual({ ok: false, problem: expect.stringContaining('answers later') })
  const throwing = { '~standard': { ...city['~standard'], validate: never } }
  expect(checkForeign(throwing, {})).toEqual({ ok: false, problem: 'The check failed: not for draft-07' })
  const validate = async () => ({ success: true, value: 1 }) as const
  expect(checkForeign(jsonSchema(object, { validate }), {})).toMatchObject({ ok: false })
  const refusing = jsonSchema(object, { validate: () => ({ success: false, error: new Error('no city') }) })
  expect(checkForeign(refusing, {})).toEqual({ ok: false, problem: 'no city' })
})

function never(): never {
  throw new Error('not for draft-07')
}
