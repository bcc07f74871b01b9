import { ConfigError } from '../../protocol/errors.js'
import type { ThreadEvent } from '../../protocol/events.js'
import { LIMITS } from '../../protocol/limits.js'
import type { StoredDelta } from '../../store/messages/deltas.js'
import type { Store } from '../../store/store.js'
import { instruments } from '../../telemetry/instruments.js'
import type { ClientContext } from '../client-context.js'
import { toDeltaEvent, readEventPage } from './event-page.js'
import type { EventPage } from './event-page.js'

/** The position of a subscriber in the event log, and in the text that streams. */
export interface EventPosition {
  readonly sequence: number
  /** Null when it has seen nothing of an uncommitted message. */
  readonly streamed: StreamedText | null
}

/** How much of a streaming message, or of the reports of a running call, was seen. */
interface StreamedText {
  /** Of the message or the call. */
  readonly messageId: string
  readonly attempt: number
  /** Characters of the text of the message, or of the output of the call. */
  readonly text: number
  /** Characters of the reasoning of the message, or reports of the progress of the call. */
  readonly reasoning: number
  /** Characters of the arguments of all calls of the message. */
  readonly args: number
}

/** Which part of the position counts a kind. */
const COUNTED = {
  text: 'text',
  output: 'text',
  args: 'args',
  reasoning: 'reasoning',
  progress: 'reasoning',
} as const

/**
 * Formats a position in ASCII without blanks, for HTTP headers: `12`, or `12:<message id>:<attempt>:<text>:<reasoning>`, and `:<args>`
 * where arguments were seen.
 */
export function cursorOf({ sequence, streamed }: EventPosition): string {
  if (streamed === null) return String(sequence)
  const { messageId, attempt, text, reasoning, args } = streamed
  const counted = args === 0 ? [text, reasoning] : [text, reasoning, args]
  return [sequence, encodeURIComponent(messageId), attempt, ...counted].join(':')
}

/** Parses the `after` of `events()`: an event's cursor, or a sequence. @throws ConfigError */
export function parsePosition(after: string | number): EventPosition {
  const position = typeof after === 'number' ? atSequence(after) : parseCursor(after)
  if (position !== null) return position
  throw new ConfigError([
    `Expected "after" to be an event's cursor or a sequence from 0 on, got ${JSON.stringify(after)}`,
  ])
}

function atSequence(sequence: number): EventPosition | null {
  return Number.isSafeInteger(sequence) && sequence >= 0 ? { sequence, streamed: null } : null
}

const CURSOR = /^(\d{1,15})(?::([\w%.!~*'()-]{1,2000}):(\d{1,15}):(\d{1,15}):(\d{1,15})(?::(\d{1,15}))?)?$/

function parseCursor(cursor: string): EventPosition | null {
  const [whole, sequence, id, attempt, text, reasoning, args = 0] = CURSOR.exec(cursor) ?? []
  if (whole === undefined) return null
  if (id === undefined) return { sequence: Number(sequence), streamed: null }
  const messageId = decodeText(id)
  if (messageId === null) return null
  const counted = { text: Number(text), reasoning: Number(reasoning), args: Number(args) }
  return { sequence: Number(sequence), streamed: { messageId, attempt: Number(attempt), ...counted } }
}

function decodeText(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** The stream of one subscriber through pages that it may share with others: no event twice, and none left out. */
interface EventStream {
  /** The place after which the next page begins; `delta` is the last row of streaming text that was read. */
  readonly position: { readonly sequence: number; readonly delta: number }
  /**
   * A killed database may lose a piece of text after later pieces were read. Its writer writes the text again, perhaps under
   * ids that were read. `again`: read from the first delta on now; `waits`: do so a second after the last time, because reading
   * the whole text each time would cost too much.
   */
  readonly gap: 'none' | 'waits' | 'again'
  /** Yields what of the page is new to this subscriber; the position advances with each event that is taken. */
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
    const ended = event.type === 'tool.result' ? event.toolCallId : event.messageId
    const ends = event.type === 'message.created' || event.type === 'tool.result'
    if (ends && ended === streamed?.messageId) streamed = null
    return { ...event, cursor: cursorOf({ sequence, streamed }) }
  }

  return {
    get position() {
      return { sequence, delta }
    },
    get gap() {
      return gap
    },
    *take({ place, events, deltas, useful, more }) {
      for (const event of events) yield withCursor(event)
      // Before the last page the deltas are too far ahead of the events; they are read again with the last page.
      if (more) return
      // Only a read from the first delta on shows that the gap is filled.
      let missing = gap !== 'none' && delta > 0
      delta = deltas.at(-1)?.id ?? delta
      for (const piece of joinPieces(
        deltas.filter((row) => row.attempt >= (useful.get(row.messageId) ?? 0)),
      )) {
        const next = cutToUnseen(piece, streamed)
        if (next === null) continue
        if (next.piece.offset > next.known) {
          missing = true
          continue
        }
        streamed = next.streamed
        yield toDeltaEvent(next.piece, { ...place, cursor: cursorOf({ sequence, streamed }) })
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

/** Joins consecutive pieces, of the last attempt of each message only. */
function joinPieces(deltas: readonly StoredDelta[]): readonly Piece[] {
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
    last.call?.id === next.call?.id &&
    next.kind !== 'progress' &&
    last.offset + last.text.length === next.offset
  )
}

interface Unseen {
  readonly piece: Piece
  /** The number of characters of its kind that were seen before. */
  readonly known: number
  /** What was seen once this piece is, too. */
  readonly streamed: StreamedText
}

/** Returns the part of a piece behind the text that was seen; null if there is none, or if its attempt was replaced. */
function cutToUnseen(piece: Piece, seen: StreamedText | null): Unseen | null {
  const { messageId, attempt, kind, offset, text, call } = piece
  const same = seen?.messageId === messageId
  // A piece of a stale attempt would be shown after the text of its successor.
  if (same && attempt < seen.attempt) return null
  const nothing = { messageId, attempt, text: 0, reasoning: 0, args: 0 }
  const position = same && attempt === seen.attempt ? seen : nothing
  const counted = COUNTED[kind]
  const known = position[counted]
  // A report of progress replaces those before it, so none of them is missing.
  if (kind === 'progress')
    return offset < known ? null : { piece, known: offset, streamed: { ...position, [counted]: offset + 1 } }
  const end = offset + text.length
  if (end <= known) return null
  const skipped = Math.max(0, known - offset)
  return {
    piece: {
      ...{ ...piece, offset: offset + skipped, text: text.slice(skipped) },
      ...(call !== undefined && { call: { ...call, offset: call.offset + skipped } }),
    },
    known,
    streamed: { ...position, [counted]: end },
  }
}

/** Where the events begin, and when they end. */
export interface FollowEvents {
  /** A sequence, or the `cursor` of an event: the next event is the first one. @default 0 */
  readonly after?: number | string
  /** False: ends with the last event that exists, without deltas. @default true */
  readonly follow?: boolean
  /**
   * The thread is the root of a tree: the stored events of all its threads, in one order with one cursor, without the text that streams.
   * Ends once all of them are closed. @default false
   */
  readonly tree?: boolean
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal
}

/**
 * Delivers the events of a thread in order and without gaps, with the text that streams in between. The reader pulls: a slow
 * one delays no other, holds one page, and gets longer pieces of text. Ends after `thread.closed`.
 * @throws ConfigError for an invalid `after`; ThreadNotFoundError
 */
export async function* followEvents(
  context: ClientContext,
  threadId: string,
  { after = 0, follow = true, signal }: Omit<FollowEvents, 'tree'>,
): AsyncGenerator<ThreadEvent, void, undefined> {
  const stream = createEventStream(parsePosition(after))
  const store = await context.store()
  const reading = { store, threadId, stream }
  for await (const event of follow ? readFollowing(reading, signal) : readRecorded(reading)) {
    if (isAborted(signal)) return
    yield event
  }
}

interface Reading {
  readonly store: Store
  readonly threadId: string
  readonly stream: EventStream
}

async function* readFollowing(
  { store, threadId, stream }: Reading,
  signal: AbortSignal | undefined,
): AsyncGenerator<ThreadEvent, void, undefined> {
  const feed = joinFeed(store, threadId)
  try {
    for (;;) {
      const { version } = feed
      const page = await feed.read(stream.position)
      yield* stream.take(page)
      if (page.more) continue
      if (page.closed) return
      if (stream.gap === 'again') continue
      await feed.waitForChange(version, stream.gap === 'waits' ? abortSoon(signal) : signal)
      if (isAborted(signal)) return
    }
  } finally {
    feed.leave()
  }
}

/** Aborts with that signal, or after a second: the change that fills a gap may have been notified before it could be read. */
function abortSoon(signal: AbortSignal | undefined): AbortSignal {
  return AbortSignal.any([AbortSignal.timeout(LIMITS.deltaLook), ...(signal === undefined ? [] : [signal])])
}

async function* readRecorded({
  store,
  threadId,
  stream,
}: Reading): AsyncGenerator<ThreadEvent, void, undefined> {
  for (;;) {
    const { sequence } = stream.position
    const read = { threadId, runtimeId: store.id, sequence, delta: null }
    const page = await store.read((db) => readEventPage(db, read))
    yield* stream.take(page)
    if (!page.more) return
  }
}

/** A function, because the compiler assumes that a property which it narrowed once does not change. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true
}

/** The subscribers of one thread in one client: they share the pages that they read. */
interface ThreadFeed {
  /** Grows with each change: it is taken before a read, and given to `waitForChange` after it. */
  readonly version: number
  /** Subscribers at the same place get the same page of one read. */
  read(after: FeedPosition): Promise<EventPage>
  /** Returns when there was a change since that version, or when the signal aborts. */
  waitForChange(since: number, signal?: AbortSignal): Promise<void>
  leave(): void
}

interface FeedPosition {
  readonly sequence: number
  readonly delta: number
}

interface Shared extends ThreadFeed {
  join(): void
}

const feeds = new WeakMap<Store, Map<string, Shared>>()

/** The last page, after which all subscribers wait, and pages that are being read: together at most a few MB. */
const KEPT_PAGES = 8

/** Joins the feed of a thread; it ends when its last subscriber leaves. @throws StoreError for a closed store */
function joinFeed(store: Store, threadId: string): ThreadFeed {
  const ofStore = feeds.get(store) ?? new Map<string, Shared>()
  feeds.set(store, ofStore)
  const feed = ofStore.get(threadId) ?? createFeed(store, threadId, () => ofStore.delete(threadId))
  ofStore.set(threadId, feed)
  feed.join()
  return feed
}

function createFeed(store: Store, threadId: string, onEnd: () => void): Shared {
  const pages = new Map<string, Promise<EventPage>>()
  const waiting = new Set<() => void>()
  let version = 0
  let users = 0
  const end = store.watch(threadId, () => {
    version += 1
    // A read that began before the change may not contain it.
    pages.clear()
    for (const wake of waiting) wake()
  })

  function read({ sequence, delta }: FeedPosition): Promise<EventPage> {
    const place = `${sequence}/${delta}`
    const known = pages.get(place)
    if (known !== undefined) return known
    const page = store.read((db) => readEventPage(db, { threadId, runtimeId: store.id, sequence, delta }))
    pages.set(place, page)
    const forget = (): boolean => pages.get(place) === page && pages.delete(place)
    // A page with a successor serves only a subscriber that is far behind, and would stay in memory while the thread is idle.
    // A failed page is forgotten, so that the next subscriber tries again.
    page.then(({ more }) => more && forget(), forget)
    for (const oldest of pages.keys()) {
      if (pages.size <= KEPT_PAGES) break
      pages.delete(oldest)
    }
    return page
  }

  return {
    join() {
      users += 1
      instruments().subscribers.add(1)
    },
    get version() {
      return version
    },
    read,
    async waitForChange(since, signal) {
      if (version !== since || signal?.aborted === true) return
      let wake = (): void => undefined
      await new Promise<void>((resolve) => {
        wake = resolve
        waiting.add(wake)
        signal?.addEventListener('abort', wake, { once: true })
      })
      waiting.delete(wake)
      signal?.removeEventListener('abort', wake)
    },
    leave() {
      users -= 1
      instruments().subscribers.add(-1)
      if (users > 0) return
      end()
      onEnd()
    },
  }
}
