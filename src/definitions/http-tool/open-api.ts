/**
 * HTTP tools from an OpenAPI document (3.0 or 3.1).
 *
 * Owns: which operations become tools, their names, their arguments with their schemas, and where each of them stands in the request. Does
 * not own: the request itself (`http-tool.ts`).
 * Invariants: only operations that were asked for by name become tools; what a document has beside them is not offered. A schema is finite:
 * what refers to itself ends in any value, and a document cannot make it larger than a request may be.
 */
import type { JSONSchema7 } from '@ai-sdk/provider'
import { schemaFormProblem } from '../../policy/schema-problem.js'
import { ConfigError } from '../../protocol/errors.js'
import { isObject, suggestName } from '../../protocol/values.js'
import type { Fields, JsonValue } from '../../protocol/values.js'
import type { JsonSchemaOf } from '../plan/foreign-schema.js'
import type { ToolDefinition } from '../tool.js'
import { defineHttpTool } from './http-tool.js'
import type { HttpToolDefinition } from './http-tool.js'

type Arguments = JsonSchemaOf<Record<string, unknown>>

/** What the document does not say of an operation. */
type OperationSettings = Partial<
  Omit<HttpToolDefinition<Arguments>, 'method' | 'url' | 'args' | 'query' | 'body' | 'form' | 'graphql'>
>

export interface OpenApiTools extends Pick<
  HttpToolDefinition,
  'auth' | 'headers' | 'allow' | 'redirectHosts' | 'requestTimeout' | 'answerBytes'
> {
  /** The operations that become tools, by `operationId` or as `GET /orders/{id}`; with what the tool of each has beside. */
  readonly operations: readonly string[] | Readonly<Record<string, OperationSettings>>
  /** The address before the paths. @default the first server of the document */
  readonly server?: string
  /** Stands before the name of each tool. @default nothing */
  readonly prefix?: string
}

interface Operation {
  /** `operationId`, else method and path. */
  readonly id: string
  /** Method and path. */
  readonly place: string
  readonly method: (typeof METHODS)[number]
  readonly path: string
  readonly fields: Fields
  /** Parameters of all operations of its path. */
  readonly shared: unknown
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/**
 * Makes a tool of each operation that is named. A parameter and a field of a JSON body are an argument each.
 * @throws ConfigError with everything that is wrong with them
 */
export function httpToolsFromOpenApi(
  document: object,
  { operations, server, prefix = '', ...common }: OpenApiTools,
): Readonly<Record<string, ToolDefinition>> {
  const fields = document as Fields
  const reader = readDocument(fields)
  const known = listOperations(fields)
  const settings = new Map(
    Array.isArray(operations)
      ? operations.map((name: string): [string, OperationSettings] => [name, {}])
      : Object.entries(operations as Readonly<Record<string, OperationSettings>>),
  )
  const problems: string[] = []
  const tools: Record<string, ToolDefinition> = {}
  for (const [name, own] of settings) {
    try {
      const operation = operationOf(name, known)
      const key = `${prefix}${toolName(operation.id)}`
      if (Object.hasOwn(tools, key)) throw new Error(`another operation has the name "${key}", too`)
      const base = server ?? serverOf(fields)
      const request = requestOf(operation, base, reader)
      const headers = { ...common.headers, ...request.headers, ...own.headers }
      tools[key] = defineHttpTool({ ...common, ...request, ...own, headers }) as ToolDefinition
    } catch (error) {
      const reasons = ConfigError.isInstance(error) ? error.problems : [messageOf(error)]
      problems.push(...reasons.map((reason) => `operation ${JSON.stringify(name)}: ${reason}`))
    }
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return tools
}

/** @throws Error unless exactly one operation has the name */
function operationOf(name: string, known: readonly Operation[]): Operation {
  // A document could give an operation the id of another one, or an id that reads like the place of another one.
  const placed = known.find(({ place }) => place === name)
  const [first, second] = placed === undefined ? known.filter(({ id }) => id === name) : [placed]
  if (first === undefined)
    throw new Error(`it is not in the document${suggestName(name, new Set(known.map(({ id }) => id)))}`)
  if (second !== undefined)
    throw new Error(`two operations have this id: name it as "${first.place}" or "${second.place}"`)
  return first
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function listOperations(document: Fields): readonly Operation[] {
  const { paths } = document
  if (!isObject(paths))
    throw new ConfigError(['Expected an OpenAPI document with "paths", got another object.'])
  return Object.entries(paths).flatMap(([path, item]) => {
    const { parameters: shared, ...given } = isObject(item) ? item : {}
    return METHODS.flatMap((method) => {
      const found = given[method.toLowerCase()]
      // What is no operation has no name, so nobody asked for it.
      if (!isObject(found)) return []
      const place = `${method} ${path}`
      const { operationId } = found
      return [
        {
          id: typeof operationId === 'string' ? operationId : place,
          place,
          method,
          path,
          fields: found,
          shared,
        },
      ]
    })
  })
}

/** A name that every provider accepts. */
function toolName(id: string): string {
  return id
    .replace(/[^\w-]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 64)
}

function serverOf({ servers }: Fields): string {
  const first: unknown = Array.isArray(servers) ? servers[0] : undefined
  const { url, variables } = isObject(first) ? first : {}
  if (typeof url !== 'string') throw new Error('the document names no server: give "server"')
  const filled = url.replace(/\{(\w+)\}/g, (place, name: string) => {
    const variable = isObject(variables) ? variables[name] : undefined
    return isObject(variable) && typeof variable['default'] === 'string' ? variable['default'] : place
  })
  if (URL.parse(filled) === null)
    throw new Error(
      `the document names the server ${JSON.stringify(url)}, which is no whole address: give "server"`,
    )
  return filled
}

/** The arguments of an operation, as they are collected. */
interface Collected {
  readonly properties: Record<string, JSONSchema7>
  readonly required: string[]
}

/** Notes an argument. Returns its template. */
function note(
  { properties, required }: Collected,
  {
    name,
    schema,
    isRequired,
    where,
  }: {
    readonly name: string
    readonly schema: JSONSchema7
    readonly isRequired: boolean
    readonly where: string
  },
): string {
  const plain = name
    .replace(/[^\w-]+/g, '_')
    .replace(/^(?=[\d-])/, '_')
    .slice(0, 60)
  // Names that every object has, such as "constructor", are taken.
  const key = Object.hasOwn(properties, plain) || plain in {} ? `${plain}_${where}` : plain
  if (plain === '' || Object.hasOwn(properties, key))
    throw new Error(`expected a name of its own for the ${where} argument ${JSON.stringify(name)}`)
  properties[key] = schema
  if (isRequired) required.push(key)
  return `{${key}}`
}

function requestOf(operation: Operation, server: string, reader: DocumentReader) {
  const { method, path, fields } = operation
  const collected: Collected = { properties: {}, required: [] }
  if (!path.startsWith('/'))
    throw new Error(`expected its path to begin with "/", got ${JSON.stringify(path)}`)
  // Maps, because a document chooses the keys: "__proto__" of an object would be that of all objects.
  const places = new Map([...STYLES.keys()].map((where) => [where, new Map<string, string>()]))
  for (const parameter of parametersOf(operation, reader)) {
    const { in: where, name } = parameter
    const into = places.get(where)
    if (into === undefined) {
      if (parameter.isRequired)
        throw new Error(`it needs the ${where} parameter "${name}", which a tool cannot send`)
      continue
    }
    into.set(name, note(collected, { ...parameter, where }))
  }
  const body = bodyOf(operation, reader, collected)
  const { description, summary } = fields
  const words = [summary, description].filter(
    (text): text is string => typeof text === 'string' && text !== '',
  )
  const { properties, required } = collected
  const schema: JSONSchema7 = { type: 'object', properties, required, additionalProperties: false }
  const size = JSON.stringify(schema).length
  if (size > LONGEST_SCHEMA)
    throw new Error(
      `expected a schema of at most ${LONGEST_SCHEMA} characters, got ${size}: offer another operation`,
    )
  const problem = schemaFormProblem(schema)
  if (problem !== undefined) throw new Error(`its arguments cannot be checked: ${problem}`)
  const url = path.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const place = places.get('path')?.get(name)
    if (place === undefined) throw new Error(`its path has {${name}}, which is none of its parameters`)
    return place
  })
  return {
    ...{ method, url: `${server.replace(/\/+$/, '')}${url}`, description: describe(words, operation) },
    // The compiler alone reads `_type`.
    args: { jsonSchema: schema } as Arguments,
    query: Object.fromEntries(places.get('query') ?? []),
    headers: Object.fromEntries(places.get('header') ?? []),
    ...body,
  } satisfies Partial<HttpToolDefinition<Arguments>>
}

/** Of all arguments. It is sent with each request of a model. */
const LONGEST_SCHEMA = 200_000

const LONGEST_DESCRIPTION = 1_000

function describe(words: readonly string[], { place }: Operation): string {
  return words.length === 0 ? place : [...new Set(words)].join('\n').slice(0, LONGEST_DESCRIPTION)
}

interface Parameter {
  readonly in: string
  readonly name: string
  readonly isRequired: boolean
  readonly schema: JSONSchema7
}

/** Where an argument may stand, with the style in which a template writes it there. */
const STYLES: ReadonlyMap<string, string> = new Map([
  ['path', 'simple'],
  ['query', 'form'],
  ['header', 'simple'],
])

/** Headers that OpenAPI itself says are no parameters. */
const NO_PARAMETERS: ReadonlySet<string> = new Set(['accept', 'content-type', 'authorization'])

/** Those of the operation count before those of its path. */
function parametersOf(
  { fields, shared }: Operation,
  { resolve, schema }: DocumentReader,
): readonly Parameter[] {
  const listed = [shared, fields['parameters']].flatMap((list) => (Array.isArray(list) ? list : []))
  const found = new Map<string, Parameter>()
  for (const one of listed) {
    const { in: where, name, required, style, description, explode, ...rest } = resolve(one)
    if (typeof where !== 'string' || typeof name !== 'string')
      throw new Error('it has a parameter without a name')
    if (where === 'header' && NO_PARAMETERS.has(name.toLowerCase())) continue
    const given = schema(rest['schema'])
    const isPlain = given.type !== 'object' && given.type !== 'array'
    const isList = given.type === 'array' && where === 'query' && explode !== false
    const expected = STYLES.get(where)
    if (expected !== undefined && ((style !== undefined && style !== expected) || (!isPlain && !isList)))
      throw new Error(`its ${where} parameter "${name}" is written in a way that a tool does not know`)
    const text = typeof description === 'string' && given.description === undefined ? { description } : {}
    found.set(`${where} ${name}`, {
      ...{
        in: where,
        name,
        isRequired: required === true || where === 'path',
        schema: { ...given, ...text },
      },
    })
  }
  return [...found.values()]
}

interface BodyTemplate {
  readonly body?: JsonValue
  readonly form?: boolean
}

function bodyOf({ fields, method }: Operation, reader: DocumentReader, collected: Collected): BodyTemplate {
  if (fields['requestBody'] === undefined) return method === 'GET' || method === 'DELETE' ? {} : { body: {} }
  const { content, required } = reader.resolve(fields['requestBody'])
  const kinds = isObject(content) ? Object.entries(content) : []
  const json = kinds.find(([type]) => /^application\/(?:[\w.+-]+\+)?json\b/.test(type))
  const form = kinds.find(([type]) => type.startsWith('application/x-www-form-urlencoded'))
  const chosen = json ?? form
  if (chosen === undefined || method === 'GET' || method === 'DELETE') {
    if (required === true) throw new Error('it needs a body that a tool cannot send: expected JSON or a form')
    return {}
  }
  const schema = reader.schema(reader.resolve(chosen[1])['schema'])
  const template = bodyTemplate(schema, required === true, collected)
  return json === undefined ? { body: template, form: true } : { body: template }
}

/** The fields of an object are arguments each; any other body is one, also an object that has fields of other schemas. */
function bodyTemplate(schema: JSONSchema7, isRequired: boolean, collected: Collected): JsonValue {
  const { properties, required = [], type, allOf, anyOf } = schema
  const isPlain = allOf === undefined && anyOf === undefined && (type === undefined || type === 'object')
  if (properties === undefined || !isPlain)
    return note(collected, { name: 'body', schema, isRequired, where: 'body' })
  const fields = Object.entries(properties).map(([name, inner]) => {
    const field = { name, schema: inner as JSONSchema7, isRequired: isRequired && required.includes(name) }
    return [name, note(collected, { ...field, where: 'body' })] as const
  })
  return Object.fromEntries(fields)
}

const DEEPEST = 12
const MOST_NODES = 2_000

/**
 * Keywords that say which values fit, and that providers accept. Not `pattern`: some expressions take minutes for a text of 30 characters, in
 * which a worker does nothing else. The model reads it in the description, and the service checks it.
 */
const KEPT: readonly string[] = [
  ...['type', 'description', 'enum', 'const', 'default', 'required', 'additionalProperties'],
  ...['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems'],
  ...['exclusiveMinimum', 'exclusiveMaximum'],
]

/** Reads a document. @throws Error with a sentence where it cannot */
interface DocumentReader {
  /** The object itself, or the one that its `$ref` names. */
  readonly resolve: (value: unknown) => Fields
  /** A schema without references, and without what only answers have. */
  readonly schema: (value: unknown) => JSONSchema7
}

function readDocument(document: Fields): DocumentReader {
  function lookUp(reference: string): unknown {
    if (!reference.startsWith('#/'))
      throw new Error(`expected references within the document, got ${JSON.stringify(reference)}`)
    let found: unknown = document
    for (const part of reference.slice(2).split('/')) {
      const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
      found = isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined
    }
    if (found === undefined) throw new Error(`expected ${JSON.stringify(reference)} to be in the document`)
    return found
  }

  function resolve(value: unknown): Fields {
    let found = value
    for (let hops = 0; isObject(found) && typeof found['$ref'] === 'string'; hops += 1) {
      if (hops > DEEPEST) throw new Error('expected a reference that leads to something, got a circle')
      found = lookUp(found['$ref'])
    }
    if (!isObject(found)) throw new Error('expected an object in the document, got another value')
    return found
  }

  function schema(value: unknown): JSONSchema7 {
    const counted = { nodes: 0 }
    return convert(value, { resolve, counted, path: [], depth: 0 })
  }
  return { resolve, schema }
}

interface Place {
  readonly resolve: DocumentReader['resolve']
  readonly counted: { nodes: number }
  /** The schemas that this one is within: one of them again is a circle. */
  readonly path: readonly Fields[]
  readonly depth: number
}

function convert(value: unknown, place: Place): JSONSchema7 {
  if (value === true || value === undefined) return {}
  const found = place.resolve(value)
  place.counted.nodes += 1
  if (place.counted.nodes > MOST_NODES)
    throw new Error(`expected a schema of at most ${MOST_NODES} parts, got more: offer another operation`)
  if (place.path.includes(found) || place.depth > DEEPEST) return {}
  const within: Place = { ...place, path: [...place.path, found], depth: place.depth + 1 }
  const kept: Record<string, unknown> = {}
  for (const keyword of KEPT) if (found[keyword] !== undefined) kept[keyword] = found[keyword]
  if (typeof found['pattern'] === 'string')
    kept['description'] = [found['description'], `Pattern: ${found['pattern']}`].filter(Boolean).join('\n')
  if (isObject(found['additionalProperties']))
    kept['additionalProperties'] = convert(found['additionalProperties'], within)
  if (found['items'] !== undefined) kept['items'] = convert(found['items'], within)
  Object.assign(kept, propertiesOf(found, within))
  for (const [from, to] of COMBINED) {
    const list = found[from]
    if (Array.isArray(list)) kept[to] = list.map((one: unknown) => convert(one, within))
  }
  // Every keyword of it is one of JSON Schema.
  return withoutOldForms(found, kept) as JSONSchema7
}

/** Providers do not accept `oneOf`. */
const COMBINED = [
  ['anyOf', 'anyOf'],
  ['oneOf', 'anyOf'],
  ['allOf', 'allOf'],
] as const

function propertiesOf({ properties, required }: Fields, within: Place): Fields {
  if (!isObject(properties)) return {}
  const sent = Object.entries(properties).filter(([, inner]) => within.resolve(inner)['readOnly'] !== true)
  const names = new Set(sent.map(([name]) => name))
  return {
    properties: Object.fromEntries(sent.map(([name, inner]) => [name, convert(inner, within)])),
    ...(Array.isArray(required) && { required: required.filter((name: string) => names.has(name)) }),
  }
}

/** What OpenAPI 3.0 writes in another way. */
function withoutOldForms({ nullable }: Fields, kept: Record<string, unknown>): Fields {
  const { type, enum: values } = kept
  if (nullable === true && (kept['allOf'] ?? kept['anyOf']) !== undefined)
    return { anyOf: [withoutOldForms({}, kept), { type: 'null' }] }
  if (nullable === true && typeof type === 'string') kept['type'] = [type, 'null']
  if (nullable === true && Array.isArray(values) && !values.includes(null)) kept['enum'] = [...values, null]
  for (const [exclusive, bound] of EXCLUSIVE) {
    if (typeof kept[exclusive] !== 'boolean') continue
    const isExclusive = kept[exclusive]
    delete kept[exclusive]
    if (!isExclusive || kept[bound] === undefined) continue
    kept[exclusive] = kept[bound]
    delete kept[bound]
  }
  return kept
}

const EXCLUSIVE = [
  ['exclusiveMinimum', 'minimum'],
  ['exclusiveMaximum', 'maximum'],
] as const
