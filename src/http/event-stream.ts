/**
 * The events of a thread over `fetch`, because `EventSource` sends no `Authorization` header.
 *
 * It owns: reading server-sent events, connecting again, and the cursor. It does not own: the token (`requests.ts`), and what events mean.
 * Invariants. S1: each event is given once and in order: a stream that breaks off goes on behind the last event that came
 * (`Last-Event-ID`), and an event that came in part comes whole. S2: it ends when the thread's events end, when the caller aborts it or takes
 * no more, and throws for a refusal that no repetition changes; nothing stays open behind it.
 */
import type { ThreadEvent } from '../protocol/events.js'
import type { Snapshot } from './generated/api-types.js'
import { HttpError } from './http-error.js'
import { wait } from './requests.js'

/** The first event of a stream that was asked to begin with a snapshot; it is no fact of the log. */
export interface SnapshotEvent {
  readonly type: 'snapshot.updated'
  readonly cursor: string
  readonly timestamp: string
  readonly threadId: string
  readonly payload: {
    /** `repair`: `after` led nowhere, and the snapshot takes the place of what the reader has. */
    readonly mode: 'first' | 'replay' | 'repair'
    readonly snapshot: Snapshot
  }
}

/** `waiting`: it broke off, and connects again after a pause. */
export type StreamState = 'connecting' | 'live' | 'waiting' | 'ended'

export interface FollowEvents {
  /** The `cursor` of an event, or a sequence: events come from the next one on. @default 0, the first event */
  readonly after?: number | string
  /** False: it ends with the last stored event. @default true */
  readonly follow?: boolean
  /** For the root of a tree: the stored events of all its threads in one order. @default false */
  readonly tree?: boolean
  readonly signal?: AbortSignal
  readonly onState?: (state: StreamState) => void
}

/** As `FollowEvents`; the first event is `snapshot.updated`. */
export interface FollowWithSnapshot extends FollowEvents {
  readonly snapshot: true
}

export type StreamedEvent = ThreadEvent | SnapshotEvent

/** Milliseconds; tests have less. */
interface Patience {
  readonly first: number
  readonly most: number
  readonly silence: number
}

/** The server gives a sign of life each 15 s, and a proxy may keep one back. */
const PATIENCE: Patience = { first: 250, most: 5_000, silence: 45_000 }

interface Visit {
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** Sends the request of a stream once. @throws HttpError */
export type OpenStream = (visit: Visit) => Promise<Response>

interface Reading {
  readonly open: OpenStream
  readonly options: FollowEvents & { readonly snapshot?: boolean }
  readonly patience: Patience
  /** The last cursor; undefined before the first event of a stream from the beginning. */
  last: string | undefined
  /** Events since it connected, and whether any came before. */
  came: number
  hasBegun: boolean
}

/** Follows the events until they end; those that came together are one array. @throws HttpError for a refusal */
export async function* followEvents(
  open: OpenStream,
  options: FollowEvents & { readonly snapshot?: boolean },
  patience = PATIENCE,
): AsyncGenerator<readonly StreamedEvent[], void, undefined> {
  const { after, signal, onState } = options
  const last = after === undefined ? undefined : String(after)
  const reading: Reading = { open, options, patience, last, came: 0, hasBegun: false }
  let pause = patience.first
  const isAborted = (): boolean => signal?.aborted === true
  while (!isAborted()) {
    onState?.('connecting')
    reading.came = 0
    try {
      const isOver = yield* readStream(reading)
      if (isAborted()) return
      const isRead = options.follow === false && reading.came === 0
      if (isOver || isRead) return onState?.('ended')
      // The server ends a stream now and then, also one that only reads what is stored.
      if (options.follow === false) continue
    } catch (error) {
      if (isAborted()) return
      // 401: the token was renewed, and the new one is refused too. Another error is of the token's function, or a bug.
      if (!HttpError.isInstance(error) || !HttpError.mayPass(error)) throw error
      pause = Math.max(pause, (error.retryAfter ?? 0) * 1000)
    }
    if (reading.came > 0) pause = patience.first
    onState?.('waiting')
    // An abort ends the wait, and then the loop.
    await wait(pause, signal).catch(() => undefined)
    pause = Math.min(patience.most, pause * 2)
  }
}

/** One connection. True: no event follows. */
async function* readStream(reading: Reading): AsyncGenerator<readonly StreamedEvent[], boolean, undefined> {
  const { options, patience } = reading
  const silence = new AbortController()
  const signal =
    options.signal === undefined ? silence.signal : AbortSignal.any([options.signal, silence.signal])
  /** Ends the connection when nothing comes; a reader that takes its time is no silence. */
  const inTime = async <T>(came: Promise<T>): Promise<T | null> => {
    const timer = setTimeout(() => silence.abort(), patience.silence)
    try {
      return await came
    } catch (error) {
      if (silence.signal.aborted) return null
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
  const response = await inTime(
    reading.open({ query: queryOf(reading), headers: headersOf(reading), signal }),
  )
  if (response === null) return false
  if (response.status === 204 || response.body === null) return true
  options.onState?.('live')
  const parse = createParser()
  // A character of which a part came is kept for its rest, and left out if that does not come: its event comes again.
  const decoder = new TextDecoder()
  const reader = response.body.getReader()
  try {
    for (;;) {
      const piece = await inTime(reader.read().catch(() => null))
      if (piece === null || piece.done) return false
      const events = parse(decoder.decode(piece.value, { stream: true }))
      if (events.length === 0) continue
      reading.last = events.at(-1)?.cursor ?? reading.last
      reading.came += events.length
      reading.hasBegun = true
      yield events
    }
  } finally {
    // It may have failed, which is known by now.
    reader.cancel().catch(() => undefined)
  }
}

function queryOf({ options, hasBegun }: Reading): Readonly<Record<string, string>> {
  return {
    ...(options.snapshot === true && !hasBegun && { snapshot: 'true' }),
    ...(options.follow === false && { follow: 'false' }),
    ...(options.tree === true && { tree: 'true' }),
  }
}

function headersOf({ last }: Reading): Readonly<Record<string, string>> {
  return last === undefined ? {} : { 'Last-Event-ID': last }
}

/** Reads server-sent events from pieces of text; the data of each is one event as JSON. An unfinished one waits for its rest. */
export function createParser(): (text: string) => readonly StreamedEvent[] {
  let rest = ''
  return (text) => {
    const blocks = (rest + text).split('\n\n')
    rest = blocks.pop() ?? ''
    return blocks.flatMap((block) => {
      const data = block
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice('data:'.length).trimStart())
        .join('\n')
      return data === '' ? [] : [JSON.parse(data) as StreamedEvent]
    })
  }
}
