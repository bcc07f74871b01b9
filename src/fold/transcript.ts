/**
 * The conversation of a thread as the page holds it: a window of its messages in order, and the text that streams.
 *
 * Invariants. C1: a message is in it once, at its position. C2: `message.created` replaces the draft of its message. C3: text is
 * appended at its offset, so that a piece that comes twice is shown once, and a higher attempt begins anew. C4: a message
 * above the window is not taken: the window has no gap.
 */
import type { ThreadEvent } from '../protocol/events.js'
import type { Message } from '../protocol/message.js'

/** Text of a message that is not stored yet. */
export interface Draft {
  readonly messageId: string
  readonly attempt: number
  readonly text: string
  readonly reasoning: string
  /** Calls whose arguments the model has begun to write, in their order. */
  readonly calls: readonly DraftCall[]
}

/** A call that is not stored yet. */
export interface DraftCall {
  /** The id that it has once its message is stored. */
  readonly id: string
  readonly name: string
  /** The beginning of its JSON. */
  readonly arguments: string
}

/** The newest messages; at most `most` of them, so that a long conversation costs no more than a short one. */
export interface Transcript {
  readonly messages: readonly Message[]
  readonly drafts: readonly Draft[]
  /** There are older messages than these. */
  readonly hasOlder: boolean
  /** The newest messages are not among these, because the person reads older ones. */
  readonly hasNewer: boolean
}

export const EMPTY_TRANSCRIPT: Transcript = { messages: [], drafts: [], hasOlder: false, hasNewer: false }

/** More rows than a person reads at once, few enough for a phone. */
const MOST_MESSAGES = 300

/** The transcript after an event; the same one if the event changes nothing. */
export function applyToTranscript(transcript: Transcript, event: ThreadEvent): Transcript {
  switch (event.type) {
    case 'model.delta':
    case 'reasoning.delta':
    case 'tool.args':
      return applyDelta(transcript, event)
    case 'message.created':
    case 'message.updated': {
      const { message, truncated } = event.payload
      const without = withoutDraft(transcript, event.messageId)
      if (message === null) return without
      // The beginning of a message is no news where the whole of it is there.
      const isBeginning = truncated && event.type === 'message.created'
      return takeMessage(without, isBeginning ? withKnownTexts(without, message) : message)
    }
    case 'message.deleted':
      return withoutMessage(withoutDraft(transcript, event.messageId), event.messageId)
    case 'message.ended':
      // One that a hook refused stays, and says so.
      return event.payload.end === 'refused' ? transcript : withoutMessage(transcript, event.messageId)
    // What a failed request or an ended run leaves of a draft is never stored.
    case 'run.completed':
    case 'run.failed':
    case 'run.cancelled':
      return transcript.drafts.length === 0 ? transcript : { ...transcript, drafts: [] }
    default:
      return transcript
  }
}

type DeltaEvent = Extract<ThreadEvent, { readonly type: 'model.delta' | 'reasoning.delta' | 'tool.args' }>

function applyDelta(transcript: Transcript, event: DeltaEvent): Transcript {
  const { messageId, payload } = event
  const { attempt } = payload
  const known = transcript.drafts.find((draft) => draft.messageId === messageId)
  if (transcript.messages.some(({ id }) => id === messageId)) return transcript
  if (known !== undefined && attempt < known.attempt) return transcript
  const isSame = known?.attempt === attempt
  const begun = isSame ? known : { messageId, attempt, text: '', reasoning: '', calls: [] }
  const draft = event.type === 'tool.args' ? withArguments(begun, event) : withText(begun, event)
  // A piece that is known whole.
  if (draft === known) return transcript
  const others = transcript.drafts.filter((one) => one !== known)
  return { ...transcript, drafts: [...others, draft] }
}

type Event<Type extends DeltaEvent['type']> = Extract<DeltaEvent, { readonly type: Type }>

function withText(draft: Draft, { type, payload }: Event<'model.delta' | 'reasoning.delta'>): Draft {
  const field = type === 'model.delta' ? 'text' : 'reasoning'
  const text = joined(draft[field], payload)
  return text === draft[field] ? draft : { ...draft, [field]: text }
}

function withArguments(draft: Draft, { toolCallId: id, payload }: Event<'tool.args'>): Draft {
  const { calls } = draft
  const at = calls.findIndex((call) => call.id === id)
  const known = calls[at]
  const given = joined(known?.arguments ?? '', payload)
  if (known?.arguments === given) return draft
  const call = { id, name: payload.name, arguments: given }
  return { ...draft, calls: at === -1 ? [...calls, call] : calls.with(at, call) }
}

/** The text with a piece that may have come before. */
function joined(before: string, { offset, text }: DeltaEvent['payload']): string {
  return before.length >= offset + text.length ? before : before.slice(0, offset) + text
}

function withoutMessage(transcript: Transcript, messageId: string | undefined): Transcript {
  const messages = transcript.messages.filter(({ id }) => id !== messageId)
  return messages.length === transcript.messages.length ? transcript : { ...transcript, messages }
}

function withoutDraft(transcript: Transcript, messageId: string | undefined): Transcript {
  const drafts = transcript.drafts.filter((draft) => draft.messageId !== messageId)
  return drafts.length === transcript.drafts.length ? transcript : { ...transcript, drafts }
}

/** The message with the texts of its row, if that was read. */
function withKnownTexts({ messages }: Transcript, message: Message): Message {
  const known = messages.find(({ id }) => id === message.id)
  if (known === undefined) return message
  const { content, reasoning_content, tool_calls } = known
  return { ...message, content, reasoning_content, tool_calls }
}

/** Takes a message that is new or has changed. Messages of nested prompts and silent ones are no part of the conversation. */
function takeMessage(transcript: Transcript, message: Message): Transcript {
  const { messages, hasOlder, hasNewer } = transcript
  const isKnown = messages.some(({ id }) => id === message.id)
  const isShown = message.depth === 0 && !message.silent && isConversation(message)
  if (!isShown && !isKnown) return transcript
  if (!isShown) return { ...transcript, messages: messages.filter(({ id }) => id !== message.id) }
  if (!isKnown) {
    const first = messages.find(({ position }) => position !== null)?.position ?? 0
    const last = messages.findLast(({ position }) => position !== null)?.position ?? 0
    if (hasOlder && message.position !== null && message.position < first) return transcript
    if (hasNewer && (message.position === null || message.position > last)) return transcript
  }
  return cutOldest({
    ...transcript,
    messages: inOrder([...messages.filter(({ id }) => id !== message.id), message]),
  })
}

/** Messages that never entered the transcript are none of it. */
function isConversation({ status }: Message): boolean {
  return status !== 'removed' && status !== 'rejected'
}

/** While the person reads the newest ones. */
function cutOldest(transcript: Transcript): Transcript {
  const { messages } = transcript
  if (messages.length <= MOST_MESSAGES) return transcript
  return { ...transcript, messages: messages.slice(-MOST_MESSAGES), hasOlder: true }
}

/** A page of the newest messages, in the place of what was known. */
export function openTranscript(messages: readonly Message[], hasOlder: boolean): Transcript {
  return { ...EMPTY_TRANSCRIPT, messages: inOrder(messages), hasOlder }
}

/** Takes a page of older messages; the newest ones leave a full window. */
export function takeOlder(transcript: Transcript, older: readonly Message[], hasOlder: boolean): Transcript {
  const known = new Set(transcript.messages.map(({ id }) => id))
  const all = inOrder([...older.filter(({ id }) => !known.has(id)), ...transcript.messages])
  const messages = all.slice(0, MOST_MESSAGES)
  return {
    ...transcript,
    messages,
    hasOlder,
    hasNewer: transcript.hasNewer || messages.length < all.length,
  }
}

/** By position; those that wait have none, and are the last ones. */
function inOrder(messages: readonly Message[]): readonly Message[] {
  return messages.toSorted(
    (one, other) =>
      (one.position ?? Infinity) - (other.position ?? Infinity) || one.created_at - other.created_at || 0,
  )
}
