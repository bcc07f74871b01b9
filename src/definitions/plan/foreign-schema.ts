/**
 * Schemas of other libraries than zod, for the arguments of tools and for results of runs.
 *
 * Owns: which schemas count, their JSON Schema, and the check of a value by them.
 * Does not own: `z.object` of zod, whose arguments are restricted to what every provider accepts (`argument-schema.ts`).
 * Invariants: a schema without a JSON Schema is refused when the registry is made; a check that throws, or that answers later, is a
 * problem of the value.
 */
import type { JSONSchema7 } from '@ai-sdk/provider'
import { schemaFormProblem, schemaProblem } from '../../policy/schema-problem.js'
import { isObject } from '../../protocol/values.js'
import type { JsonValue } from '../../protocol/values.js'

/** What Standard Schema 1 (standardschema.dev) says about a value. */
type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** A schema of any library of Standard Schema 1 that also gives its JSON Schema, as zod, ArkType and Valibot do. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
    readonly jsonSchema?: { readonly input: (options: { readonly target: 'draft-07' }) => object } | undefined
  }
}

/** A schema of the AI SDK's `jsonSchema()`. Without `validate` values are checked by the JSON Schema itself. */
export interface JsonSchemaOf<Output = unknown> {
  /** For the compiler only. */
  readonly _type: Output
  readonly jsonSchema: unknown
  readonly validate?: ((value: unknown) => unknown) | undefined
}

export type ForeignSchema<Output = unknown> = StandardSchema<Output> | JsonSchemaOf<Output>

/** The value as its schema makes it, or the problem of the value, in words for a model. */
export type Checked =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string }

export function isForeignSchema(value: unknown): value is ForeignSchema {
  const isHolder = (typeof value === 'object' && value !== null) || typeof value === 'function'
  if (!isHolder) return false
  // A schema of ArkType is a function.
  return '~standard' in value ? isObject(value['~standard']) : 'jsonSchema' in value
}

/** Explains why a schema cannot be used; undefined: it can. */
export function foreignSchemaProblem(schema: ForeignSchema): string | undefined {
  const found = readJsonSchema(schema)
  if (typeof found === 'string') return found
  if (found.type !== 'object') return 'expected a JSON Schema of an object, which is what providers accept'
  const isCheckedByIt = !('~standard' in schema) && schema.validate === undefined
  const problem = isCheckedByIt ? schemaFormProblem(found) : undefined
  return problem === undefined
    ? undefined
    : `its JSON Schema cannot be checked, give jsonSchema() a validate: ${problem}`
}

/** @throws for a schema that has a problem */
export function foreignJsonSchema(schema: ForeignSchema): JSONSchema7 {
  const found = readJsonSchema(schema)
  if (typeof found === 'string') throw new Error(found)
  return found
}

const WITHOUT =
  'its library gives no JSON Schema for it: wrap it in jsonSchema(…) of the AI SDK, or use zod, ArkType or another library of Standard JSON Schema'

function readJsonSchema(schema: ForeignSchema): JSONSchema7 | string {
  try {
    const given = '~standard' in schema ? standardJsonSchema(schema) : schema.jsonSchema
    if (given === undefined) return WITHOUT
    if (!isObject(given)) return 'expected its JSON Schema as an object'
    if (typeof given['then'] === 'function')
      return 'expected a JSON Schema that is there at once, got a promise'
    const { $schema: _, ...found } = given
    return found
  } catch (error) {
    return `it has no JSON Schema: ${error instanceof Error ? error.message : String(error)}`
  }
}

function standardJsonSchema(schema: StandardSchema): unknown {
  return schema['~standard'].jsonSchema?.input({ target: 'draft-07' })
}

const LATER = 'The check failed: its schema answers later, which is not possible here.'

/** Checks a value. It throws nothing. */
export function checkForeign(schema: ForeignSchema, value: unknown): Checked {
  try {
    return '~standard' in schema ? checkStandard(schema, value) : checkJsonSchema(schema, value)
  } catch (error) {
    return {
      ok: false,
      problem: `The check failed: ${error instanceof Error ? error.message : String(error)}`,
    }
  }
}

function checkStandard(schema: StandardSchema, value: unknown): Checked {
  const result = schema['~standard'].validate(value)
  if (result instanceof Promise) return { ok: false, problem: LATER }
  if (result.issues === undefined) return { ok: true, value: result.value }
  return { ok: false, problem: result.issues.map(describeIssue).join('; ') }
}

function describeIssue({ message, path = [] }: StandardIssue): string {
  const keys = path.map((part) => String(typeof part === 'object' ? part.key : part))
  return keys.length === 0 ? message : `${keys.join('.')}: ${message}`
}

function checkJsonSchema(schema: JsonSchemaOf, value: unknown): Checked {
  if (schema.validate === undefined) {
    // What a model has written is JSON.
    const problem = schemaProblem(foreignJsonSchema(schema), value as JsonValue)
    return problem === undefined ? { ok: true, value } : { ok: false, problem }
  }
  const result = schema.validate(value)
  if (!isObject(result) || typeof result['success'] !== 'boolean') return { ok: false, problem: LATER }
  if (result['success']) return { ok: true, value: result['value'] }
  const { error } = result
  return { ok: false, problem: error instanceof Error ? error.message : 'The value does not fit.' }
}
