import { expect, test } from 'vitest'
import { z } from 'zod'
import { argumentSchemaProblems, toInputSchema } from './plan/argument-schema.js'

interface SchemaNode {
  readonly [keyword: string]: unknown
}

/** The keywords that strict providers accept: any other makes them refuse the whole request. */
const KEYWORDS: ReadonlySet<string> = new Set([
  ...['$ref', 'additionalProperties', 'anyOf', 'const', 'default', 'definitions', 'description', 'enum'],
  ...['exclusiveMaximum', 'exclusiveMinimum', 'format', 'items', 'maxItems', 'maxLength', 'maximum'],
  ...['minItems', 'minLength', 'minimum', 'multipleOf', 'pattern', 'properties', 'required', 'type'],
])

/** The reasons for which a strict provider would refuse a schema. */
function* refusals(node: SchemaNode, path: string): Generator<string> {
  for (const keyword of Object.keys(node)) if (!KEYWORDS.has(keyword)) yield `${path}: ${keyword}`
  if (node['enum'] !== undefined && node['type'] === undefined) yield `${path}: enum without type`
  if (node['type'] === 'object') {
    const properties = Object.keys((node['properties'] ?? {}) as SchemaNode)
    const required = (node['required'] ?? []) as readonly string[]
    for (const name of required) if (!properties.includes(name)) yield `${path}: required ${name}`
    if (node['additionalProperties'] === undefined) yield `${path}: open object`
  }
  for (const [name, inner] of innerNodes(node)) yield* refusals(inner, `${path}.${name}`)
}

function innerNodes(node: SchemaNode): readonly (readonly [string, SchemaNode])[] {
  const maps = ['properties', 'definitions'].flatMap((key) => Object.entries((node[key] ?? {}) as SchemaNode))
  const single = ['items', 'additionalProperties'].flatMap((key) => [[key, node[key]] as const])
  const list = ((node['anyOf'] ?? []) as readonly unknown[]).map(
    (inner, index) => [`${index}`, inner] as const,
  )
  return [...maps, ...single, ...list].filter(
    (entry): entry is [string, SchemaNode] => typeof entry[1] === 'object' && entry[1] !== null,
  )
}

const line = z.object({ sku: z.string(), price: z.number().positive() })

test('K-27 union and record schemas have only words that strict providers know', () => {
  const schema = z.object({
    union: z.union([z.string(), line, z.null()]),
    kinds: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('card'), line }),
      z.object({ kind: z.literal('bill') }),
    ]),
    record: z.record(z.string(), line),
    counts: z.record(z.string().regex(/^\d+$/), z.int()),
    sizes: z.record(z.enum(['small', 'large']), z.number()),
    some: z.partialRecord(z.enum(['small', 'large']), z.number()),
    sides: z.record(z.union([z.literal('left'), z.literal('right')]), z.boolean()),
    loose: z.looseRecord(z.string().regex(/^x_/), z.unknown()),
    mixed: z.literal(['none', 1, null]),
    nested: z.array(z.record(z.string(), z.union([line, z.array(line)]))).optional(),
    get again() {
      return z.array(schema).default([])
    },
  })
  expect(argumentSchemaProblems(schema, 'args')).toEqual([])
  expect([...refusals(toInputSchema(schema) as SchemaNode, 'args')]).toEqual([])
})

test('a record of fixed keys is an object with these properties', () => {
  const number = { type: 'number' }
  const schema = z.object({
    all: z.record(z.enum(['a', 'b']), z.number()),
    some: z.partialRecord(z.enum(['a', 'b']), z.number()),
    any: z.record(z.string(), z.number()),
  })
  const fixed = { type: 'object', properties: { a: number, b: number }, additionalProperties: false }
  expect(toInputSchema(schema).properties).toEqual({
    all: { ...fixed, required: ['a', 'b'] },
    some: fixed,
    any: { type: 'object', additionalProperties: number },
  })
})

test('a discriminated union is a choice of any', () => {
  const schema = z.object({
    kind: z.discriminatedUnion('type', [
      z.object({ type: z.literal('x') }),
      z.object({ type: z.literal('y') }),
    ]),
  })
  expect(toInputSchema(schema).properties?.['kind']).toEqual({
    anyOf: ['x', 'y'].map((type) => ({
      type: 'object',
      properties: { type: { type: 'string', const: type } },
      required: ['type'],
      additionalProperties: false,
    })),
  })
})
