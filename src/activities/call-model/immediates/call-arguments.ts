/** What a call that no model has made says: arguments that its subagent takes, or none at all. */
import type { z } from 'zod'
import { takesArguments } from '../../../definitions/lifecycle-tools.js'
import type { SubagentContent } from '../../../definitions/plan-content.js'
import { parseArguments } from '../../../definitions/tool-arguments.js'
import type { JsonObject } from '../../../protocol/json.js'

/** A subagent, and the schema of its arguments as this worker has it. */
export interface Callee {
  readonly subagent: SubagentContent
  readonly schema: z.ZodObject | undefined
}

/** Values of the parent's variables. */
export interface Hints {
  readonly name: string | null
  readonly description: string | null
}

/** An instance that stays has to be told something, and there is nothing to tell. */
const FIRST_MESSAGE = 'Begin.'

/** Without anything to go by; null if the subagent needs more. */
export function plainArguments(callee: Callee): JsonObject | null {
  return completed(callee, { name: null, message: null, own: {} })
}

/** With the hints as they are: in their mapped arguments, or as name and message of an instance that stays. */
export function hintedArguments(callee: Callee, { name, description }: Hints): JsonObject | null {
  const { initAgentNameProperty, initUserMessageProperty } = callee.subagent
  const message = description ?? name
  const mapped = {
    ...(initAgentNameProperty === undefined || name === null ? {} : { [initAgentNameProperty]: name }),
    ...(initUserMessageProperty === undefined || message === null
      ? {}
      : { [initUserMessageProperty]: message }),
  }
  return completed(callee, { name, message, own: mapped }) ?? completed(callee, { name, message, own: {} })
}

/** As a model wrote them under `bootstrapSchema`; null if they are not right. */
export function writtenArguments(callee: Callee, rawJson: string): JsonObject | null {
  const written = parseObject(rawJson)
  if (written === null) return null
  if (callee.subagent.resumable === null)
    return completed(callee, { name: null, message: null, own: written })
  const { name, message, arguments: own = {} } = written
  if (!isWords(name) || !isWords(message) || !isObject(own)) return null
  return completed(callee, { name, message, own })
}

interface Beginning {
  readonly name: string | null
  readonly message: string | null
  /** Of the subagent's own schema. */
  readonly own: JsonObject
}

function completed({ subagent, schema }: Callee, { name, message, own }: Beginning): JsonObject | null {
  if (!parseArguments(schema, JSON.stringify(own)).ok) return null
  const { agent, title, resumable, fanOut } = subagent
  if (resumable === null) return fanOut ? { items: [own] } : own
  return {
    agent,
    name: name ?? title ?? agent,
    message: message ?? FIRST_MESSAGE,
    attachments: [],
    ...(takesArguments(subagent) ? { arguments: own } : {}),
  }
}

function parseObject(rawJson: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(rawJson)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** What was JSON has nothing else in it. */
function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isWords(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}
