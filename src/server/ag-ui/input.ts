/**
 * What a client of AG-UI sends to begin a run: its schema, and which of it a thread takes.
 *
 * Owns: which messages are new, and how they are messages of ours. Does not own: answers to interrupts (`interrupts.ts`).
 * Invariants: of the messages only those of the person at the end are taken, each once by its id. What comes before is the store's, whatever
 * the client says; tools and context of the client are named in an event and not used.
 */
import { z } from '@hono/zod-openapi'
import type { NewMessage } from '../../client/messages/send-message.js'
import { LIMITS } from '../../protocol/limits.js'
import { isObject } from '../../protocol/values.js'
import type { JsonObject } from '../../protocol/values.js'
import type { AgUiMessage } from '../../views/ag-ui/messages.js'
import { ProblemError } from '../error-response.js'
import { resumeEntry } from './interrupts.js'

const id = z.string().min(1).max(LIMITS.threadIdLength)

const message = z.looseObject({ id: z.string().min(1), role: z.string(), content: z.unknown().optional() })

export const runInput = z
  .looseObject({
    threadId: id,
    runId: id,
    protocolVersion: z.string().optional(),
    parentRunId: z.string().optional(),
    messages: z.array(message),
    resume: z.array(resumeEntry).optional(),
    tools: z.array(z.looseObject({ name: z.string() })).optional(),
    context: z.array(z.unknown()).optional(),
    forwardedProps: z.unknown().optional().openapi({
      description: '`{ deliver }`: as for a message of this API. Everything else is ignored.',
    }),
  })
  .openapi('AgUiRunInput', { description: '`RunAgentInput` of AG-UI 1.0.' })

export type RunInput = z.infer<typeof runInput>

type GivenMessage = z.infer<typeof message>

export interface NewInput {
  /** With the id of the client. */
  readonly message: NewMessage & { readonly id: string }
  readonly text: string
}

const DELIVERIES: readonly unknown[] = ['next_step', 'next_turn', 'preempt', 'reject']

/** The messages of the person at the end. @throws ProblemError for content that cannot be a message */
export function newMessagesOf({ messages, forwardedProps }: RunInput): readonly NewInput[] {
  const last = messages.findLastIndex(({ role }) => role !== 'user')
  const deliver = isObject(forwardedProps) ? forwardedProps['deliver'] : undefined
  if (deliver !== undefined && !DELIVERIES.includes(deliver))
    throw new ProblemError(
      400,
      'bad_request',
      'Expected "forwardedProps.deliver" to be next_step, next_turn, preempt or reject, got something else.',
    )
  return messages.slice(last + 1).map((given) => {
    const text = textOf(given)
    const attachments = filesOf(given)
    const made = {
      ...{ id: given.id, ...(text !== '' && { content: text }) },
      ...(attachments.length > 0 && { attachments }),
      ...(deliver !== undefined && { deliver }),
    }
    return { text, message: made as NewInput['message'] }
  })
}

function partsOf({ content }: GivenMessage): readonly JsonObject[] {
  return Array.isArray(content) ? content.filter(isObject).map((part) => part as JsonObject) : []
}

function textOf(given: GivenMessage): string {
  if (typeof given.content === 'string') return given.content
  return partsOf(given)
    .filter(({ type }) => type === 'text')
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('\n')
}

/** Files whose bytes are in the message. @throws ProblemError for one that is elsewhere: the server fetches nothing for a caller */
function filesOf(given: GivenMessage): NonNullable<NewMessage['attachments']> {
  return partsOf(given)
    .filter(({ type }) => type !== 'text')
    .map(({ type, source, metadata }, index) => {
      const what = typeof type === 'string' ? type : 'part'
      const { type: kind, value, mimeType } = isObject(source) ? source : {}
      if (kind !== 'data' || typeof value !== 'string' || typeof mimeType !== 'string')
        throw new ProblemError(
          400,
          'message_rejected',
          `Expected the ${what} in message "${given.id}" to have a source of type "data" with a mimeType, got another: send its bytes as base64.`,
        )
      const named =
        isObject(metadata) && typeof metadata['filename'] === 'string' ? metadata['filename'] : null
      return { name: named ?? `${what}-${index + 1}`, mimeType, data: value }
    })
}

/** Whether the client has the conversation that the store has; its reasoning and activities are its own. */
export function hasHistory(
  { messages }: RunInput,
  { known, own }: { readonly known: readonly AgUiMessage[]; readonly own: ReadonlySet<string> },
): boolean {
  const client = messages
    .filter(({ id: one, role }) => role !== 'reasoning' && role !== 'activity' && !own.has(one))
    .map((given) => [given.id, given.role, textOf(given)])
  const stored = known
    .filter(({ id: one, role }) => role !== 'reasoning' && !own.has(one))
    .map((row) => [row.id, row.role, row.content ?? ''])
  return JSON.stringify(client) === JSON.stringify(stored)
}

/** What of the input is not used, by name; null: all of it is. */
export function ignoredOf({ tools = [], context = [] }: RunInput): JsonObject | null {
  if (tools.length === 0 && context.length === 0) return null
  return { tools: tools.map(({ name }) => name), context: context.length }
}
