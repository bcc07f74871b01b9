import type { JSONSchema7 } from '@ai-sdk/provider'
import { z } from 'zod'
import { foreignJsonSchema, foreignSchemaProblem } from './foreign-schema.js'
import type { ForeignSchema } from './foreign-schema.js'

/** A schema of arguments. */
export type ArgumentSchema = z.ZodObject | ForeignSchema

/** The zod types that Standard Agents allows in arguments: each has a JSON schema that every provider accepts. */
const ALLOWED: ReadonlySet<string> = new Set([
  'string',
  'number',
  'boolean',
  'null',
  'literal',
  'enum',
  'optional',
  'nullable',
  'default',
  'array',
  'object',
  'record',
  'union',
  'unknown',
])

/** Lists the parts of an argument schema that cannot be offered to a model; `owner` names the schema. */
export function argumentSchemaProblems(schema: ArgumentSchema, owner: string): readonly string[] {
  if (!isZodObject(schema)) {
    const problem = foreignSchemaProblem(schema)
    return problem === undefined ? [] : [`${owner}: ${problem}`]
  }
  const problems = [...forbiddenNodes(schema, [], new Set())].map(
    ({ path, type }) =>
      `${owner}.${path} is a zod type '${type}', which cannot be described to models; use ${[...ALLOWED].join(', ')}`,
  )
  if (problems.length > 0) return problems
  try {
    toInputSchema(schema)
    return []
  } catch (error) {
    return [`${owner} has no JSON schema: ${error instanceof Error ? error.message : String(error)}`]
  }
}

/**
 * The JSON schema of the arguments that a model has to write, in the subset that every provider accepts: a provider that
 * refuses a schema refuses the whole request. Objects allow no other properties unless their author allows them.
 */
export function toInputSchema(schema: ArgumentSchema): JSONSchema7 {
  if (!isZodObject(schema)) return foreignJsonSchema(schema)
  // A registered id would make the root a reference, which providers refuse; the clone has no id.
  const { $schema: _, ...inputSchema } = z.toJSONSchema(schema.clone(schema.def), {
    io: 'input',
    target: 'draft-7',
    override: ({ jsonSchema }) => sanitize(jsonSchema),
  })
  // The type that zod declares for all targets is that of draft 2020-12.
  return inputSchema as JSONSchema7
}

export function isZodObject(schema: unknown): schema is z.ZodObject {
  return schema instanceof z.ZodObject
}

/** Whether a schema has an argument of this name. */
export function hasArgument(schema: ArgumentSchema, name: string): boolean {
  return argumentNames(schema).includes(name)
}

function argumentNames(schema: ArgumentSchema): readonly string[] {
  return Object.keys(isZodObject(schema) ? schema.shape : (foreignJsonSchema(schema).properties ?? {}))
}

interface ForbiddenNode {
  readonly path: string
  readonly type: string
}

function* forbiddenNodes(
  schema: z.core.$ZodType,
  path: readonly string[],
  seen: Set<z.core.$ZodType>,
): Generator<ForbiddenNode> {
  if (seen.has(schema)) return
  seen.add(schema)
  const { type } = schema._zod.def
  if (!ALLOWED.has(type)) yield { path: path.join('.'), type }
  else for (const [key, inner] of innerSchemas(schema)) yield* forbiddenNodes(inner, [...path, ...key], seen)
}

type InnerSchema = readonly [key: readonly string[], schema: z.core.$ZodType]

function innerSchemas(schema: z.core.$ZodType): readonly InnerSchema[] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'object':
      return Object.entries(def.shape).map(([key, inner]) => [[key], inner])
    case 'array':
      return [[['[]'], def.element]]
    case 'optional':
    case 'nullable':
    case 'default':
      return [[[], def.innerType]]
    case 'record':
      return [
        [['{key}'], def.keyType],
        [['{}'], def.valueType],
      ]
    case 'union':
      return def.options.map((option) => [[], option])
    default:
      return []
  }
}

type Node = z.core.JSONSchema.BaseSchema

/** Rewrites one node of a JSON schema in place with keywords that strict providers accept; zod visits inner nodes first. */
function sanitize(node: Node): void {
  if (node.oneOf !== undefined) {
    node.anyOf = node.oneOf
    delete node.oneOf
  }
  if (node.enum !== undefined) node.type ??= enumType(node.enum)
  if (node.type === 'object') sanitizeObject(node)
}

/** Rewrites a record of fixed keys as an object, because a required property must also be listed under properties. */
function sanitizeObject(node: Node): void {
  const keys =
    readFixedKeys(node.propertyNames) ?? (node.properties === undefined ? node.required : undefined)
  delete node.propertyNames
  if (node.patternProperties !== undefined) {
    delete node.patternProperties
    node.additionalProperties = {}
  }
  const { additionalProperties: value } = node
  if (keys !== undefined && typeof value === 'object') {
    node.properties = Object.fromEntries(keys.map((key) => [key, value]))
    node.additionalProperties = false
  }
  node.additionalProperties ??= false
}

function readFixedKeys(names: Node['propertyNames']): readonly string[] | undefined {
  if (typeof names !== 'object') return undefined
  const keys = names.enum ?? (names.const === undefined ? undefined : [names.const])
  return keys?.every((key) => typeof key === 'string') === true ? keys : undefined
}

function enumType(values: readonly unknown[]): NonNullable<Node['type']> {
  const types = [...new Set(values.map((value) => (value === null ? 'null' : typeof value)))]
  // zod has refused every value that JSON cannot express.
  return (types.length === 1 ? types[0] : types) as NonNullable<Node['type']>
}

const TEXT_TYPES: ReadonlySet<string> = new Set(['string', 'enum', 'literal', 'union', 'unknown'])

/** Explains why a property of a schema cannot be used as text, or as one attachment path or several. */
export function propertyProblem(
  schema: ArgumentSchema | undefined,
  property: string,
  use: 'text' | 'paths',
): string | undefined {
  const known = schema === undefined ? [] : argumentNames(schema)
  if (schema === undefined || !known.includes(property)) {
    const list = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`
    return `'${property}' is not one of the arguments: ${list}`
  }
  // The type of an argument in another library is found out at the call.
  if (!isZodObject(schema)) return undefined
  const inner = unwrap(schema.shape[property] as z.core.$ZodType)
  const element = use === 'paths' && inner._zod.def.type === 'array' ? unwrap(inner._zod.def.element) : inner
  if (TEXT_TYPES.has(element._zod.def.type)) return undefined
  const expected = use === 'text' ? 'a string' : 'a string or an array of strings'
  return `'${property}' has to be ${expected}, but is of type '${inner._zod.def.type}'`
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodTypes {
  const typed = schema as z.core.$ZodTypes
  const { def } = typed._zod
  const isWrapper = def.type === 'optional' || def.type === 'nullable' || def.type === 'default'
  return isWrapper ? unwrap(def.innerType) : typed
}
