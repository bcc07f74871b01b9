/**
 * What a request asks, for who is to answer it over MCP: a question, the JSON Schema of an answer, and a form for a person.
 * Owns: these three, and the answer that a filled form means. Does not own: whether an answer is accepted (`respond`), which checks all of
 * it again.
 * Invariant: a form never asks for the values of variables, which may be secrets.
 */
import type { Answer } from '../../client/answers/check-answer.js'
import type { PendingRequest } from '../../client/answers/pending-request.js'
import { isObject } from '../../protocol/values.js'
import { ProblemError } from '../error-response.js'

type JsonSchema = Readonly<Record<string, unknown>>

/** Longer parts of a question are shortened: it is read by a person, or is a part of a model's context. */
const LONGEST_PART = 2_000

/** A sentence with what is asked, and what a person needs to know. */
export function questionOf(request: PendingRequest): string {
  switch (request.kind) {
    case 'approval': {
      const { toolName, description, args, preview = [], decision } = request
      const lines = [
        `May ${toolName} run${args === undefined ? '' : ` with ${shorten(JSON.stringify(args))}`}?`,
        description,
        decision?.reason,
        ...preview.map((part) => shorten(part.type === 'text' ? part.text : JSON.stringify(part))),
      ]
      return shorten(lines.filter((line) => line !== undefined && line !== '').join('\n'))
    }
    case 'budget': {
      const { scope, limit, most, used } = request
      return `A budget is used up (${scope}: ${limit} of at most ${most}, used ${used}). May it be raised?`
    }
    case 'call': {
      const { connect } = request
      if (connect !== undefined)
        return `${request.toolName} waits until the person has logged in to ${connect.server}: ${connect.url}`
      return `${request.toolName} ${shorten(JSON.stringify(request.args ?? {}))} waits for its result.`
    }
    case 'variables':
      return `${request.agent} needs values for: ${request.missing.join(', ')}.`
  }
}

/** The schema of `answer`, as `respond` and the HTTP API take it. */
export function answerSchema(request: PendingRequest): JsonSchema {
  switch (request.kind) {
    case 'approval': {
      const { answers, schema } = request
      return object(['approved'], {
        approved: { type: 'boolean' },
        reason: { type: 'string', description: 'Of a denial, for the agent.' },
        ...(answers.includes('arguments') && { arguments: schema ?? { type: 'object' } }),
      })
    }
    case 'budget':
      return object(['approved'], {
        approved: { type: 'boolean' },
        raise: { type: 'number', description: 'The new limit. Default: as much again.' },
      })
    case 'call':
      return object(['result'], {
        result: object(['status'], {
          status: { enum: ['success', 'error'] },
          result: request.form ?? {},
          error: { type: 'string' },
        }),
      })
    case 'variables': {
      const names = request.missing.map((name) => [name, { type: 'string' }] as const)
      return object(['env'], { env: object([], Object.fromEntries(names)) })
    }
  }
}

function object(required: readonly string[], properties: JsonSchema): JsonSchema {
  return { type: 'object', properties, required, additionalProperties: false }
}

/** A form of MCP's elicitation: flat, with texts, numbers, flags and choices only. */
export interface AnswerForm {
  readonly message: string
  readonly properties: Readonly<Record<string, JsonSchema>>
  readonly required: readonly string[]
  /** @throws ProblemError 400 for a form that is not filled */
  readonly answerOf: (content: Readonly<Record<string, unknown>>) => Answer
}

const DECISION = {
  decision: { type: 'string', title: 'Decision', enum: ['approve', 'deny'] },
  reason: { type: 'string', title: 'Reason', description: 'Of a denial, for the agent.' },
} as const

/**
 * The form by which a person answers; null: there is none for this request. `proposal`: the answer that a program has given for an
 * approval; the person sees what it adds, and decides.
 */
export function formOf(request: PendingRequest, proposal?: Answer): AnswerForm | null {
  const message = questionOf(request)
  if (request.kind === 'variables') return null
  if (request.kind === 'call') return resultForm(message, request.form as JsonSchema | undefined)
  const added = additionsOf(proposal)
  const shown = Object.keys(added).length === 0 ? '' : `\nProposed with an approval: ${JSON.stringify(added)}`
  return {
    message: `${message}${shown}`,
    properties: DECISION,
    required: ['decision'],
    answerOf: ({ decision, reason }) => {
      const why = typeof reason === 'string' && reason !== '' ? { reason } : {}
      if (decision === 'approve') return { approved: true, ...why, ...added }
      if (decision === 'deny') return { approved: false, ...why }
      throw new ProblemError(400, 'bad_request', 'Expected a decision, "approve" or "deny", got neither.')
    },
  }
}

/** What an approval has beside its decision. */
function additionsOf(proposal: Answer | undefined): JsonSchema {
  if (proposal === undefined || !('approved' in proposal) || !proposal.approved) return {}
  const { approved: _decision, reason: _reason, by: _by, ...added } = proposal
  return added
}

/** A form for the result of a call: its own where that is flat, a text where it has none. */
function resultForm(message: string, form: JsonSchema | undefined): AnswerForm | null {
  const answerOf = (result: unknown): Answer => ({ result: { status: 'success', result: result as never } })
  if (form === undefined || isPlain(form)) {
    const field = form ?? { type: 'string' }
    return {
      message,
      properties: { result: field },
      required: ['result'],
      answerOf: ({ result }) => answerOf(result),
    }
  }
  const { type, properties, required = [] } = form
  if (type !== 'object' || !isObject(properties) || !Object.values(properties).every(isPlain)) return null
  return {
    message,
    properties: properties as Readonly<Record<string, JsonSchema>>,
    required: required as readonly string[],
    answerOf,
  }
}

const PLAIN_TYPES: readonly unknown[] = ['string', 'number', 'integer', 'boolean']

/** What a form may hold: see `PrimitiveSchemaDefinition` of the protocol. */
const PLAIN_WORDS: ReadonlySet<string> = new Set([
  ...['type', 'title', 'description', 'default', 'enum', 'format'],
  ...['minLength', 'maxLength', 'minimum', 'maximum'],
])

const FORMATS: readonly unknown[] = [undefined, 'email', 'uri', 'date', 'date-time']

function isPlain(schema: unknown): schema is JsonSchema {
  if (!isObject(schema) || !PLAIN_TYPES.includes(schema['type']) || !FORMATS.includes(schema['format']))
    return false
  return Object.keys(schema).every((word) => PLAIN_WORDS.has(word))
}

function shorten(text: string): string {
  return text.length <= LONGEST_PART ? text : `${text.slice(0, LONGEST_PART)}…`
}
