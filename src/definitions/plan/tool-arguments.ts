import { z } from 'zod'
import type { ToolDefinition } from '../tool.js'
import { isZodObject } from './argument-schema.js'
import type { ArgumentSchema } from './argument-schema.js'
import { checkForeign } from './foreign-schema.js'
import type { Checked } from './foreign-schema.js'

/** The arguments for a tool, or the problem of those that the model wrote. */
type ParsedArguments =
  | { readonly ok: true; readonly args: Record<string, unknown> }
  | { readonly ok: false; readonly problem: string }

/** Reads the arguments of a tool call as the model wrote them; the problem is written for the model. */
export function parseToolArguments(tool: Pick<ToolDefinition, 'args'>, rawJson: string): ParsedArguments {
  return parseArguments(tool.args, rawJson)
}

/** Reads the arguments of any call by its schema; without a schema, any object counts as no arguments. */
export function parseArguments(schema: ArgumentSchema | undefined, rawJson: string): ParsedArguments {
  const raw = parseObject(rawJson)
  if (!raw.ok || schema === undefined) return raw.ok ? { ok: true, args: {} } : raw
  const checked = checkBySchema(schema, raw.args)
  if (!checked.ok) return checked
  if (isObject(checked.value)) return { ok: true, args: checked.value }
  return { ok: false, problem: `Expected arguments that are an object, got ${kindOf(checked.value)}` }
}

/** Checks a value by any schema. It throws nothing. */
export function checkBySchema(schema: ArgumentSchema, value: unknown): Checked {
  if (!isZodObject(schema)) return checkForeign(schema, value)
  try {
    const parsed = schema.safeParse(value)
    if (parsed.success) return { ok: true, value: parsed.data }
    return { ok: false, problem: parsed.error.issues.map(describeIssue).join('; ') }
  } catch (error) {
    // A refinement that throws or is asynchronous must not fail the activity again and again.
    const reason = error instanceof Error ? error.message : String(error)
    return { ok: false, problem: `The check of the arguments failed: ${reason}` }
  }
}

/** The arguments of a session of one side whose prompt has no schema. */
const TASK = z.object({
  message: z
    .string()
    .min(1)
    .describe(
      'The whole task, with all that is needed for it: the agent knows nothing of this conversation.',
    ),
})

interface SubagentEntry {
  readonly session?: boolean | undefined
  readonly resumable?: unknown
  readonly initUserMessageProperty?: string | undefined
}

/**
 * The arguments of a call that starts a subagent, and the one that becomes its first message: those of its side A prompt; else a
 * session of one side takes its task. An instance that stays open gets its task as a message in any case.
 */
export function subagentArguments(
  own: z.ZodObject | undefined,
  { session, resumable, initUserMessageProperty }: SubagentEntry,
): { readonly schema: z.ZodObject | undefined; readonly initUserMessageProperty?: string } {
  const given = initUserMessageProperty === undefined ? {} : { initUserMessageProperty }
  const isOpen = resumable !== undefined && resumable !== false && resumable !== null
  if (own !== undefined || session !== true || isOpen) return { schema: own, ...given }
  return { schema: TASK, initUserMessageProperty: 'message', ...given }
}

/** Reads the JSON object that the model wrote, without a schema. */
export function parseObject(rawJson: string): ParsedArguments {
  // Providers send an empty string for a call without arguments.
  if (rawJson.trim() === '') return { ok: true, args: {} }
  let value: unknown
  try {
    value = JSON.parse(rawJson)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { ok: false, problem: `Expected the arguments as a JSON object, got broken JSON: ${reason}` }
  }
  if (isObject(value)) return { ok: true, args: value }
  return { ok: false, problem: `Expected the arguments as a JSON object, got ${kindOf(value)}` }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const path = z.core.toDotPath(issue.path)
  return path === '' ? issue.message : `${path}: ${issue.message}`
}
