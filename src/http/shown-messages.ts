/**
 * What a person sees of a conversation: stored messages with their calls, text that streams, and messages on their way.
 *
 * Invariant. A message that is written here is shown once: when its row comes, it takes the place of what was sent, by its id, or, while the
 * server has not answered, by its text behind the newest message that was known when it was written.
 */
import type { Run } from '../fold/runs.js'
import type { Transcript } from '../fold/transcript.js'
import type { AttachmentRef, Message, ToolCallEntry } from '../protocol/message.js'
import type { Outgoing } from './outbox.js'

/** A call of a tool that a message makes. */
export interface ShownCall {
  readonly id: string
  readonly name: string
  /** JSON, as the model wrote it; of a message that streams its beginning. */
  readonly arguments: string
  /** `succeeded`, `failed`, `denied`, …; null while it is written, runs or waits, or where its events are too old to be read. */
  readonly outcome: string | null
  /** Its text, of which an event has the beginning; null while there is none. */
  readonly result: string | null
  readonly attachments: readonly AttachmentRef[]
}

export interface ShownMessage {
  /** Of the message; of one that the server has not accepted yet its key. */
  readonly id: string
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly ShownCall[]
  readonly attachments: readonly AttachmentRef[]
  /**
   * `streaming`: its text comes. `queued`: the thread takes it later. `sending`, `waiting` (nobody answers, it is sent again) and
   * `refused` (`problem` says why) are of messages that were sent here.
   */
  readonly state: 'stored' | 'streaming' | 'queued' | 'sending' | 'waiting' | 'refused'
  readonly problem: string | null
  /** The row; null while there is none. */
  readonly message: Message | null
}

interface Shown {
  readonly transcript: Transcript
  readonly runs: readonly Run[]
  /** Those of the thread. */
  readonly outgoing: readonly Outgoing[]
}

export function showMessages({ transcript, runs, outgoing }: Shown): readonly ShownMessage[] {
  const { messages, drafts } = transcript
  const tools = new Map(
    runs.flatMap(({ steps }) => steps.flatMap((step) => step.tools.map((one) => [one.id, one]))),
  )
  const results = new Map(
    messages.flatMap((one) => (one.tool_call_id === null ? [] : [[one.tool_call_id, one]])),
  )
  const called = new Set<string>()
  const callOf = ({ id, function: { name, arguments: given } }: ToolCallEntry): ShownCall => {
    called.add(id)
    const [run, row] = [tools.get(id), results.get(id)]
    const stored =
      row?.tool_status === 'success' ? 'succeeded' : row?.tool_status === 'error' ? 'failed' : null
    return {
      ...{ id, name, arguments: given, outcome: run?.outcome ?? stored },
      result: row?.content ?? run?.result ?? null,
      attachments: row?.attachments ?? run?.attachments ?? [],
    }
  }
  const stored = messages.map((message) => rowOf(message, callsOf(message).map(callOf)))
  return [
    ...stored.filter(({ message }) => message?.tool_call_id == null || !called.has(message.tool_call_id)),
    ...drafts.map(({ messageId, text, reasoning, calls }) => ({
      ...{ id: messageId, role: 'assistant' as const, text, reasoning, attachments: [] },
      calls: calls.map((call) => ({ ...call, outcome: null, result: null, attachments: [] })),
      ...{ state: 'streaming' as const, problem: null, message: null },
    })),
    ...unstored(outgoing, messages).map(outgoingRow),
  ]
}

function rowOf(message: Message, calls: readonly ShownCall[]): ShownMessage {
  const { id, role, content, reasoning_content: reasoning, attachments, position, status } = message
  const state = position === null && status === 'pending' ? 'queued' : 'stored'
  return {
    ...{ id, role, text: content ?? '', reasoning: reasoning ?? '', calls, attachments, state },
    ...{ problem: null, message },
  }
}

function outgoingRow({ key, messageId, message, state, problem }: Outgoing): ShownMessage {
  return {
    ...{ id: messageId ?? key, role: 'user', text: message.content ?? '', reasoning: '', calls: [] },
    ...{
      attachments: [],
      state: state === 'accepted' ? 'queued' : state,
      problem: problem ?? null,
      message: null,
    },
  }
}

/** Messages on their way that have no row yet. */
function unstored(outgoing: readonly Outgoing[], messages: readonly Message[]): readonly Outgoing[] {
  const taken = new Set(outgoing.flatMap(({ messageId }) => messageId ?? []))
  const known = new Set(messages.map(({ id }) => id))
  return outgoing.filter(({ messageId, message, behind, state }) => {
    if (messageId !== undefined) return !known.has(messageId)
    if (state === 'refused') return true
    const row = messages.find(
      ({ id, role, content, position }) =>
        role === 'user' &&
        content === (message.content ?? null) &&
        (position ?? Infinity) > behind &&
        !taken.has(id),
    )
    if (row !== undefined) taken.add(row.id)
    return row === undefined
  })
}

/** The calls of a message; a text that is none, which a tool may have written, has none. */
export function callsOf({ tool_calls: text }: Message): readonly ToolCallEntry[] {
  if (text === null) return []
  try {
    const calls: unknown = JSON.parse(text)
    return Array.isArray(calls) ? (calls as readonly ToolCallEntry[]) : []
  } catch {
    return []
  }
}
