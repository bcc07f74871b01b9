import { expect, test } from 'vitest'
import { z } from 'zod'
import { argumentSchemaProblems, toInputSchema } from './argument-schema.js'

test('an argument with a default is not required', () => {
  expect(toInputSchema(z.object({ id: z.string(), full: z.boolean().default(false) }))).toEqual({
    type: 'object',
    properties: { id: { type: 'string' }, full: { type: 'boolean', default: false } },
    required: ['id'],
    additionalProperties: false,
  })
})

test('objects are closed at every depth, records are not', () => {
  const schema = z.object({
    lines: z.array(z.object({ sku: z.string() })),
    tags: z.record(z.string(), z.number()),
    propertyNames: z.string(),
    anything: z.looseObject({}),
  })
  expect(toInputSchema(schema)).toMatchObject({
    properties: {
      lines: { items: { additionalProperties: false } },
      tags: { type: 'object', additionalProperties: { type: 'number' } },
      propertyNames: { type: 'string' },
      anything: { additionalProperties: {} },
    },
    additionalProperties: false,
  })
  expect(JSON.stringify(toInputSchema(schema))).not.toContain('"propertyNames":{"type":"string"},"additional')
})

test('a schema with a registered id is still an object', () => {
  const schema = z.object({ id: z.string().describe('The order') }).meta({ id: 'order_arguments' })
  expect(toInputSchema(schema)).toEqual({
    type: 'object',
    properties: { id: { type: 'string', description: 'The order' } },
    required: ['id'],
    additionalProperties: false,
  })
})

test('every allowed zod type has a schema', () => {
  const schema = z.object({
    string: z.email().optional(),
    number: z.int().positive().nullable(),
    boolean: z.boolean().default(true),
    null: z.null(),
    literal: z.literal(['a', 1]),
    enum: z.enum(['a', 'b']),
    union: z.union([z.string(), z.discriminatedUnion('kind', [z.object({ kind: z.literal('x') })])]),
    record: z.record(z.enum(['a']), z.unknown()),
    get self() {
      return z.array(schema)
    },
  })
  expect(argumentSchemaProblems(schema, 'args')).toEqual([])
})

test('a literal that JSON lacks has no schema', () => {
  const schema = z.object({ big: z.literal(1n) })
  expect(argumentSchemaProblems(schema, 'args')).toEqual([
    expect.stringMatching(/^args has no JSON schema: /),
  ])
})
