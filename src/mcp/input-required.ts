/**
 * Questions of a server to a person, in the middle of a call (`input_required` of MCP 2026-07-28).
 *
 * Owns: the form that a person sees, the state of the call that waits, and what the server gets as the answer. Does not own: who may
 * answer, and the request (`activities/sources/`).
 * Invariants: the state is JSON and holds all that the next request needs, so that any worker can send it; a form has no pattern, which
 * could occupy the process that checks an answer.
 */
import type { InputRequiredResult, InputResponses } from '@modelcontextprotocol/client'
import { ToolError } from '../definitions/tool-error.js'
import type { SourcePending } from '../definitions/tool-source.js'
import type { ToolResult } from '../definitions/tool-result.js'
import { isObject } from '../protocol/values.js'
import type { JsonObject, JsonValue } from '../protocol/values.js'

/** What a call waits for. */
export interface WaitingInput {
  /** The keys of the questions of the server. */
  readonly keys: readonly string[]
  /** Opaque, for the server. */
  readonly requestState?: string
}

/** Characters of the form, and levels of it: the protocol has forms of one level. */
const [LONGEST_FORM, LEVELS] = [16_384, 8]

/** The wait for the answers to a server's questions. @throws ToolError for questions that a person cannot answer here */
export function askPerson(
  server: string,
  { inputRequests = {}, requestState }: InputRequiredResult,
): SourcePending {
  const asked = Object.entries(inputRequests)
  const forms = asked.map(([key, request]) => [key, formOf(server, request)] as const)
  const waiting: WaitingInput = {
    keys: asked.map(([key]) => key),
    ...(requestState !== undefined && { requestState }),
  }
  const resume = { input: waiting as unknown as JsonValue }
  const [only] = forms
  // A server that asks nothing wants to be called again with its state.
  if (only === undefined) return { status: 'pending', after: 0, resume }
  const form = forms.length === 1 ? only[1] : togetherOf(forms)
  if (JSON.stringify(form).length > LONGEST_FORM)
    throw new ToolError(
      `The MCP server "${server}" asks with a form of more than ${LONGEST_FORM} characters.`,
      {
        ...{ category: 'permanent', code: 'mcp_invalid' },
      },
    )
  return { status: 'pending', form, resume }
}

function togetherOf(forms: readonly (readonly [string, JsonObject])[]): JsonObject {
  const properties = Object.fromEntries(forms)
  return { type: 'object', properties, required: forms.map(([key]) => key) }
}

function formOf(server: string, request: unknown): JsonObject {
  const { method, params } = isObject(request) ? request : {}
  const { message, requestedSchema, mode } = isObject(params) ? params : {}
  if (method !== 'elicitation/create' || mode === 'url' || !isObject(requestedSchema))
    throw new ToolError(
      `The MCP server "${server}" asks for "${String(method)}", and people can only be asked by forms here.`,
      { category: 'permanent', code: 'mcp_unsupported' },
    )
  const { $schema: _, ...schema } = withoutPatterns(requestedSchema as JsonObject, LEVELS) as JsonObject
  // The words of the server stand in the form, where people read them.
  return { ...schema, ...(typeof message === 'string' && { description: message.slice(0, 4_000) }) }
}

/** A copy without what a person cannot see and a process could choke on. */
function withoutPatterns(value: JsonValue, levels: number): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  if (levels === 0) return {}
  if (Array.isArray(value)) return value.map((one) => withoutPatterns(one as JsonValue, levels - 1))
  const kept = Object.entries(value as JsonObject).filter(
    ([key]) => !['pattern', 'patternProperties', '$ref'].includes(key),
  )
  return Object.fromEntries(kept.map(([key, one]) => [key, withoutPatterns(one as JsonValue, levels - 1)]))
}

/** What the server gets: the values of the form, or that the person declined. */
export function responsesOf({ keys }: WaitingInput, answer: ToolResult | null): InputResponses {
  if (answer?.status !== 'success') return Object.fromEntries(keys.map((key) => [key, { action: 'decline' }]))
  const { result } = answer
  const contents: readonly unknown[] =
    keys.length === 1 ? [result] : keys.map((key) => (isObject(result) ? result[key] : undefined))
  return Object.fromEntries(
    keys.map((key, index) => {
      const content = contents[index]
      // `respond` has checked it by the form.
      return [
        key,
        { action: 'accept', content: (isObject(content) ? content : {}) as Record<string, string> },
      ]
    }),
  )
}

/** Reads the state of a call that waits; null: it waits for something else. */
export function readWaitingInput({ input }: JsonObject): WaitingInput | null {
  // Written by `askPerson`: the store's boundary.
  return isObject(input) ? (input as unknown as WaitingInput) : null
}
