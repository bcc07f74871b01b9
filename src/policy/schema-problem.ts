/** The check of what a person gives by the JSON schema that they were shown: who answers has no definitions. */
import type { JSONSchema7 } from '@ai-sdk/provider'
import { z } from 'zod'

import { isObject } from '../protocol/values.js'
import type { JsonValue } from '../protocol/values.js'

/** Returns why a value does not fit a schema; undefined: it does. */
export function schemaProblem(schema: JSONSchema7, value: JsonValue): string | undefined {
  const parsed = z.fromJSONSchema(schema as never).safeParse(value)
  return parsed.error?.issues.map(({ path, message }) => [...path, message].join(': ')).join('; ')
}

/** Returns what is wrong with a JSON schema; undefined: values can be checked by it. */
export function schemaFormProblem(schema: unknown): string | undefined {
  if (!isObject(schema)) return 'it is no object.'
  try {
    z.fromJSONSchema(schema as never)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
