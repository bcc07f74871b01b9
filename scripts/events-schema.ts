/**
 * The JSON Schema of events, made of the event table (`src/protocol/events.ts`) and the types that it names.
 *
 * It owns: which types of TypeScript the table may use, and how each is said in JSON Schema. It does not own: the page for readers
 * (`events-page.ts`). It is strict: a field that the table does not name is refused, and a type that cannot be said here is an error.
 */
import { readFileSync } from 'node:fs'
import { parseSync } from 'rolldown/utils'

type Statement = ReturnType<typeof parseSync>['program']['body'][number]
type Interface = Extract<Statement, { readonly type: 'TSInterfaceDeclaration' }>
type Alias = Extract<Statement, { readonly type: 'TSTypeAliasDeclaration' }>
type Node = Alias['typeAnnotation']

export type JsonSchema = Readonly<Record<string, unknown>>

interface ObjectSchema extends JsonSchema {
  readonly type: 'object'
  readonly properties: Readonly<Record<string, JsonSchema>>
  readonly required: readonly string[]
  readonly additionalProperties: false
}

/** The files whose types the table names. */
const FILES = [
  ...([
    'events',
    'event-codes',
    'payloads/governance',
    'payloads/lifecycle',
    'payloads/compaction',
    'payloads/live-text',
    'payloads/queue',
    'payloads/sessions',
    'payloads/tool-failure',
  ] as const),
  ...(['status', 'plan', 'message', 'values', 'time'] as const),
]

/** Types whose values are open. */
const OPEN: Readonly<Record<string, JsonSchema>> = {
  JsonValue: {},
  JsonObject: { type: 'object' },
  Millis: { type: 'number' },
  Micros: { type: 'number' },
}

/** The payloads of one type: as it is stored, and as it is delivered. */
interface PayloadSchemas {
  readonly stored: ObjectSchema
  readonly delivered: ObjectSchema
}

const declared = declarations()

/** The schemas of the payloads, by type of event. */
export function payloadSchemas(): ReadonlyMap<string, PayloadSchemas> {
  const joined = new Map(membersOf('JoinedPayloads').map(({ name, node }) => [name, objectOf(node)]))
  return new Map(
    membersOf('EventPayloads').map(({ name, node }) => {
      const stored = objectOf(node)
      const added = joined.get(name)
      return [name, { stored, delivered: added === undefined ? stored : merge(stored, added) }]
    }),
  )
}

/** The schema of one event as `events()` and the HTTP server deliver it. */
export function eventsSchema(): JsonSchema {
  const envelope = ['FactEnvelope', 'WithCursor', 'EventScope'].map((name) => named(name)).reduce(merge)
  const facts = [...payloadSchemas()].map(
    ([type, { delivered }]) => [type, eventOf(envelope, type, delivered)] as const,
  )
  const { sequence: _sequence, eventId: _eventId, ...ofDelta } = envelope.properties
  const required = envelope.required.filter((name) => Object.hasOwn(ofDelta, name))
  const live = [
    ['model.delta', ['messageId'], 'DeltaPayload'],
    ['reasoning.delta', ['messageId'], 'DeltaPayload'],
    ['tool.args', ['messageId', 'toolCallId'], 'ArgsPayload'],
    ['tool.output', ['toolCallId'], 'DeltaPayload'],
    ['tool.progress', ['toolCallId'], 'ProgressPayload'],
  ] as const
  const deltas = live.map(([type, about, payload]) => {
    const delta = { ...envelope, properties: ofDelta, required: [...required, ...about] }
    return [type, eventOf(delta, type, named(payload))] as const
  })
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'An event of a thread of Everthread',
    description:
      'Strict: it refuses every field and code that this version does not write. Later versions add types, optional fields and codes.',
    anyOf: [...facts, ...deltas].map(([type]) => ({ $ref: `#/$defs/${type}` })),
    $defs: Object.fromEntries([...facts, ...deltas]),
  }
}

/** The text of `docs/generated/events.schema.json`, which is the door `everthread/events.schema.json`. */
export function eventsSchemaText(): string {
  return `${JSON.stringify(eventsSchema(), null, 2)}\n`
}

function eventOf(envelope: ObjectSchema, type: string, payload: ObjectSchema): ObjectSchema {
  const own = { type: { const: type }, payload }
  return {
    ...envelope,
    properties: { ...own, ...envelope.properties },
    required: ['type', 'payload', ...envelope.required],
  }
}

interface Member {
  readonly name: string
  readonly node: Node
  readonly optional: boolean
}

type Parameters = ReadonlyMap<string, Node>

function declarations(): ReadonlyMap<string, Interface | Alias> {
  const found = new Map<string, Interface | Alias>()
  for (const file of FILES) {
    const code = readFileSync(new URL(`../src/protocol/${file}.ts`, import.meta.url), 'utf8')
    for (const statement of parseSync(`${file}.ts`, code).program.body) {
      const node = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
      if (node?.type === 'TSInterfaceDeclaration' || node?.type === 'TSTypeAliasDeclaration')
        found.set(node.id.name, node)
    }
  }
  return found
}

function declarationOf(name: string): Interface | Alias {
  const node = declared.get(name)
  if (node === undefined) throw new Error(`Expected a type ${name} in ${FILES.join(', ')}`)
  return node
}

function membersOf(name: string): readonly Member[] {
  const node = declarationOf(name)
  if (node.type !== 'TSInterfaceDeclaration') throw new Error(`Expected an interface ${name}`)
  return membersIn(node.body.body)
}

function membersIn(members: Interface['body']['body']): readonly Member[] {
  return members.map((member) => {
    if (member.type !== 'TSPropertySignature' || member.typeAnnotation === null)
      throw new Error(`Expected a field, got ${member.type}`)
    const { key, optional } = member
    const name = key.type === 'Literal' ? String(key.value) : key.type === 'Identifier' ? key.name : ''
    if (name === '') throw new Error(`Expected the name of a field, got ${key.type}`)
    return { name, node: member.typeAnnotation.typeAnnotation, optional }
  })
}

/** The schema of a declared type, which has fields. */
function named(name: string): ObjectSchema {
  return asObject(schemaNamed(name, []), name)
}

function objectOf(node: Node): ObjectSchema {
  return asObject(schemaOf(node, new Map()), node.type)
}

function asObject(schema: JsonSchema, name: string): ObjectSchema {
  if (schema['type'] !== 'object' || schema['additionalProperties'] !== false)
    throw new Error(`Expected fields in ${name}`)
  // The two checks say so.
  return schema as ObjectSchema
}

function schemaNamed(name: string, given: readonly Node[]): JsonSchema {
  const open = OPEN[name]
  if (open !== undefined) return open
  const node = declarationOf(name)
  const parameters = new Map(
    (node.typeParameters?.params ?? []).map((parameter, index) => {
      const chosen = given[index] ?? parameter.default
      if (chosen == null) throw new Error(`Expected ${name} to have a default for each parameter`)
      return [parameter.name.name, chosen]
    }),
  )
  if (node.type === 'TSTypeAliasDeclaration') return schemaOf(node.typeAnnotation, parameters)
  const above = node.extends.map(({ expression, typeArguments }) => {
    if (expression.type !== 'Identifier') throw new Error(`Expected a name behind "extends" of ${name}`)
    return asObject(schemaNamed(expression.name, typeArguments?.params ?? []), expression.name)
  })
  return [...above, objectSchema(membersIn(node.body.body), parameters)].reduce(merge)
}

function objectSchema(members: readonly Member[], parameters: Parameters): ObjectSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(members.map(({ name, node }) => [name, schemaOf(node, parameters)])),
    required: members.filter(({ optional }) => !optional).map(({ name }) => name),
    additionalProperties: false,
  }
}

/** Fields of both; those of the second one replace others of their names. */
function merge(one: ObjectSchema, other: ObjectSchema): ObjectSchema {
  const kept = one.required.filter((name) => !Object.hasOwn(other.properties, name))
  return {
    ...one,
    properties: { ...one.properties, ...other.properties },
    required: [...kept, ...other.required],
  }
}

const PLAIN: Readonly<Record<string, JsonSchema>> = {
  TSStringKeyword: { type: 'string' },
  TSNumberKeyword: { type: 'number' },
  TSBooleanKeyword: { type: 'boolean' },
  TSNullKeyword: { type: 'null' },
  TSUnknownKeyword: {},
}

function schemaOf(node: Node, parameters: Parameters): JsonSchema {
  const plain = PLAIN[node.type]
  if (plain !== undefined) return plain
  switch (node.type) {
    case 'TSParenthesizedType':
      return schemaOf(node.typeAnnotation, parameters)
    case 'TSTypeOperator':
      return schemaOf(node.typeAnnotation, parameters)
    case 'TSArrayType':
      return { type: 'array', items: schemaOf(node.elementType, parameters) }
    case 'TSTypeLiteral':
      return objectSchema(membersIn(node.members), parameters)
    case 'TSLiteralType':
      return { const: literalOf(node) }
    case 'TSUnionType':
      return unionOf(node.types.map((type) => schemaOf(type, parameters)))
    case 'TSIntersectionType':
      return intersectionOf(node.types, parameters)
    case 'TSTypeReference':
      return referenceOf(node, parameters)
    default:
      throw new Error(`Expected a type that JSON Schema can say, got ${node.type}`)
  }
}

function literalOf({ literal }: Extract<Node, { readonly type: 'TSLiteralType' }>): unknown {
  if (literal.type === 'Literal') return literal.value
  throw new Error(`Expected a literal, got ${literal.type}`)
}

/** Literals of one union are one `enum`; a list that is open for later codes is any text. */
function unionOf(members: readonly JsonSchema[]): JsonSchema {
  const codes = members.flatMap((member) => ('const' in member ? [member['const']] : []))
  const others = members.filter((member) => !('const' in member))
  if (others.some(({ type }) => type === 'string'))
    return others.length === 1 ? { type: 'string' } : { anyOf: others }
  if (codes.length === 0) return { anyOf: others }
  const list = { enum: codes }
  return others.length === 0 ? list : { anyOf: [list, ...others] }
}

function intersectionOf(types: readonly Node[], parameters: Parameters): JsonSchema {
  // `string & {}` is any text.
  if (types.some(({ type }) => type === 'TSStringKeyword')) return { type: 'string' }
  return types.map((type) => asObject(schemaOf(type, parameters), type.type)).reduce(merge)
}

function referenceOf(
  node: Extract<Node, { readonly type: 'TSTypeReference' }>,
  parameters: Parameters,
): JsonSchema {
  if (node.typeName.type !== 'Identifier') throw new Error(`Expected a name, got ${node.typeName.type}`)
  const { name } = node.typeName
  const given = node.typeArguments?.params ?? []
  const [first, second] = given
  const chosen = parameters.get(name)
  if (chosen !== undefined) return schemaOf(chosen, new Map())
  if (name === 'Readonly' && first !== undefined) return schemaOf(first, parameters)
  if (name === 'Record' && second !== undefined)
    return second.type === 'TSNeverKeyword'
      ? { type: 'object', properties: {}, required: [], additionalProperties: false }
      : { type: 'object', additionalProperties: schemaOf(second, parameters) }
  if (name === 'Pick' && first !== undefined && second !== undefined)
    return pick(asObject(schemaOf(first, parameters), name), schemaOf(second, parameters))
  return schemaNamed(name, given)
}

function pick(of: ObjectSchema, { enum: names }: JsonSchema): ObjectSchema {
  const picked = new Set(Array.isArray(names) ? names.map(String) : [])
  return {
    ...of,
    properties: Object.fromEntries(Object.entries(of.properties).filter(([name]) => picked.has(name))),
    required: of.required.filter((name) => picked.has(name)),
  }
}
