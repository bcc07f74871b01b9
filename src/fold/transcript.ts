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

type DeltaEvent = Extract<ThreadEvent, { readonly type: 'model.delta' | 'reasoning.delta' }>

function applyDelta(transcript: Transcript, { type, messageId, payload }: DeltaEvent): Transcript {
  const { attempt, offset, text } = payload
  const known = transcript.drafts.find((draft) => draft.messageId === messageId)
  if (transcript.messages.some(({ id }) => id === messageId)) return transcript
  if (known !== undefined && attempt < known.attempt) return transcript
  const begun = known?.attempt === attempt ? known : { messageId, attempt, text: '', reasoning: '' }
  const field = type === 'model.delta' ? 'text' : 'reasoning'
  const draft = { ...begun, [field]: begun[field].slice(0, offset) + text }
  // A piece that is known whole.
  if (begun[field].length >= offset + text.length && begun === known) return transcript
  const others = transcript.drafts.filter((one) => one !== known)
  return { ...transcript, drafts: [...others, draft] }
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
