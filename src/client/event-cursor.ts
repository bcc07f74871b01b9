import { ConfigError } from '../protocol/errors.js'

/** Where a subscriber is in the event log, and in the text that streams. */
export interface EventPosition {
  readonly sequence: number
  /** Null: it has seen nothing of a message that is not committed. */
  readonly streamed: StreamedText | null
}

/** How much of a message that streams was seen, in characters of each kind. */
export interface StreamedText {
  readonly messageId: string
  readonly attempt: number
  readonly text: number
  readonly reasoning: number
}

/** ASCII without blanks, for it may come back in an HTTP header: `12`, or `12:<message id>:<attempt>:<text>:<reasoning>`. */
export function cursorOf({ sequence, streamed }: EventPosition): string {
  if (streamed === null) return String(sequence)
  const { messageId, attempt, text, reasoning } = streamed
  return [sequence, encodeURIComponent(messageId), attempt, text, reasoning].join(':')
}

/** What `events({ after })` was given: an event's cursor, or a sequence. @throws ConfigError */
export function positionAfter(after: string | number): EventPosition {
  const position = typeof after === 'number' ? atSequence(after) : parsed(after)
  if (position !== null) return position
  throw new ConfigError([
    `Expected "after" to be an event's cursor or a sequence from 0 on, got ${JSON.stringify(after)}`,
  ])
}

function atSequence(sequence: number): EventPosition | null {
  return Number.isSafeInteger(sequence) && sequence >= 0 ? { sequence, streamed: null } : null
}

const CURSOR = /^(\d{1,15})(?::([\w%.!~*'()-]{1,2000}):(\d{1,15}):(\d{1,15}):(\d{1,15}))?$/

function parsed(cursor: string): EventPosition | null {
  const [whole, sequence, id, attempt, text, reasoning] = CURSOR.exec(cursor) ?? []
  if (whole === undefined) return null
  if (id === undefined) return { sequence: Number(sequence), streamed: null }
  const messageId = decoded(id)
  if (messageId === null) return null
  const streamed = { messageId, attempt: Number(attempt), text: Number(text), reasoning: Number(reasoning) }
  return { sequence: Number(sequence), streamed }
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
