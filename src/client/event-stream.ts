import type { ThreadEvent } from '../protocol/events.js'
import { LIMITS } from '../protocol/limits.js'
import type { StoredDelta } from '../store/messages/deltas.js'
import { cursorOf } from './event-cursor.js'
import type { EventPosition, StreamedText } from './event-cursor.js'
import type { EventPage } from './event-page.js'
import { deltaEvent } from './join-event.js'

/** One subscriber's way through pages that it may share with others: nothing twice, nothing left out. */
export interface EventStream {
  /** What the next page begins after; `delta` is the last row that was read of what streams. */
  readonly position: { readonly sequence: number; readonly delta: number }
  /**
   * A database that was killed forgot text that what was read follows on; its writer writes it again, perhaps under ids
   * that were read. `again`: read from the first delta on, now; `waits`: a second later; all of a text each time would be too much.
   */
  readonly gap: 'none' | 'waits' | 'again'
  /** What of the page is new to it; each event is accounted for as it is taken. */
  take(page: EventPage): Generator<ThreadEvent, void, undefined>
}

export function createEventStream(
  begin: EventPosition,
  now: () => number = () => performance.now(),
): EventStream {
  let { sequence, streamed } = begin
  let delta = 0
  let gap: EventStream['gap'] = 'none'
  let again = -Infinity

  function withCursor(event: EventPage['events'][number]): ThreadEvent {
    sequence = event.sequence
    if (event.type === 'message.created' && event.messageId === streamed?.messageId) streamed = null
    return { ...event, cursor: cursorOf({ sequence, streamed }) }
  }

  return {
    get position() {
      return { sequence, delta }
    },
    get gap() {
      return gap
    },
    *take({ events, deltas, useful, more }) {
      for (const event of events) yield withCursor(event)
      // Before the last page the deltas are too far ahead of the events; they are read again with it.
      if (more) return
      // Only who reads from the first one sees that the gap is filled.
      let missing = gap !== 'none' && delta > 0
      delta = deltas.at(-1)?.id ?? delta
      for (const piece of joined(deltas.filter((row) => row.attempt >= (useful.get(row.messageId) ?? 0)))) {
        const next = unseen(piece, streamed)
        if (next === null) continue
        if (next.piece.offset > next.known) {
          missing = true
          continue
        }
        streamed = next.streamed
        yield deltaEvent(next.piece, cursorOf({ sequence, streamed }))
      }
      gap = missing ? 'waits' : 'none'
      if (!missing || now() - again < LIMITS.deltaLook) return
      gap = 'again'
      again = now()
      delta = 0
    },
  }
}

type Piece = Omit<StoredDelta, 'id'>

/** Pieces that follow on each other as one; of each message its last attempt only. */
function joined(deltas: readonly StoredDelta[]): readonly Piece[] {
  const attempts = new Map<string, number>()
  for (const { messageId, attempt } of deltas)
    attempts.set(messageId, Math.max(attempt, attempts.get(messageId) ?? 0))
  const pieces: Piece[] = []
  for (const delta of deltas) {
    if (delta.attempt !== attempts.get(delta.messageId)) continue
    const last = pieces.at(-1)
    if (last !== undefined && follows(last, delta))
      pieces[pieces.length - 1] = { ...last, text: last.text + delta.text }
    else pieces.push(delta)
  }
  return pieces
}

function follows(last: Piece, next: Piece): boolean {
  return (
    last.messageId === next.messageId &&
    last.kind === next.kind &&
    last.offset + last.text.length === next.offset
  )
}

interface Unseen {
  readonly piece: Piece
  /** Characters of its kind that were seen. */
  readonly known: number
  /** With it. */
  readonly streamed: StreamedText
}

/** The part of a piece that lies behind what was seen; null if there is none, or if its attempt was given up. */
function unseen(piece: Piece, seen: StreamedText | null): Unseen | null {
  const { messageId, attempt, kind, offset, text } = piece
  const same = seen?.messageId === messageId
  // A late piece of an attempt that was given up would be shown after its successor's text.
  if (same && attempt < seen.attempt) return null
  const known = same && attempt === seen.attempt ? seen : { messageId, attempt, text: 0, reasoning: 0 }
  const end = offset + text.length
  if (end <= known[kind]) return null
  const skipped = Math.max(0, known[kind] - offset)
  return {
    piece: { ...piece, offset: offset + skipped, text: text.slice(skipped) },
    known: known[kind],
    streamed: { ...known, [kind]: end },
  }
}
