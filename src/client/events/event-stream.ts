/**
 * Streams of events as callers ask for them: of a thread, of a tree, and with the state of the thread first.
 *
 * Owns: the cursor of a tree, when its stream ends, and what a stream begins with. Does not own: the order of all events
 * (`readAllEvents`), the stream of one thread (`follow-events.ts`), and what an event carries (`event-page.ts`). Text that streams is not
 * among the events of a tree: it is no fact, and has no place in that order.
 * Invariants: each fact of a tree comes once and in the order of its thread (V1); no fact comes behind one that was committed later and
 * was delivered, so a cursor stands for everything before it (V2).
 */
import { createHash } from 'node:crypto'
import { ConfigError } from '../../protocol/errors.js'
import { SCHEMA_VERSION } from '../../protocol/events.js'
import type { ThreadEvent } from '../../protocol/events.js'
import { countChanges } from '../../store/changes.js'
import { isFutureCursor, lastSequence } from '../../store/events.js'
import type { AllEventsPage, Reader, Store } from '../../store/store.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { readSnapshot } from '../read-snapshot.js'
import type { ThreadSnapshot } from '../read-snapshot.js'
import { joinStored } from './event-page.js'
import { cursorOf, followEvents, parsePosition } from './follow-events.js'
import type { FollowEvents } from './follow-events.js'

/**
 * `first`: the reader gave no cursor, and the events behind the snapshot follow. `replay`: those behind its cursor follow; the snapshot has
 * the effects of some of them already. `repair`: there is nothing at its cursor, which is unknown, of another tree or of events that are
 * gone: the snapshot takes the place of what the reader has, and the events behind the snapshot follow.
 */
export type SnapshotMode = 'first' | 'replay' | 'repair'

/** The first event of a stream that was asked to begin with a snapshot. It is no fact of the log, so it has no sequence. */
export interface SnapshotUpdated {
  readonly type: 'snapshot.updated'
  /** Where the events behind it begin. */
  readonly cursor: string
  readonly timestamp: string
  readonly schemaVersion: number
  readonly threadId: string
  readonly payload: {
    readonly mode: SnapshotMode
    /** Of a tree: that of its root. */
    readonly snapshot: ThreadSnapshot
  }
}

/** A stream that begins with the state of the thread. */
export interface FollowWithSnapshot extends FollowEvents {
  /**
   * The first event is `snapshot.updated`, with the state of the thread. Where `after` leads nowhere any more, it says so (`repair`) in place
   * of an error.
   */
  readonly snapshot: true
}

interface Beginning {
  readonly threadId: string
  readonly tree: boolean
  /** Undefined: the reader has nothing yet. */
  readonly after: number | string | undefined
}

/** Reads the snapshot; events come from its cursor on. @throws ThreadNotFoundError, ConfigError for a tree that is none */
async function beginWithSnapshot(
  context: ClientContext,
  { threadId, tree, after }: Beginning,
): Promise<SnapshotUpdated> {
  // Before the snapshot: what is written in between comes again as an event, and nothing is missed.
  const present = tree ? await presentTreeCursor(context, threadId) : null
  const { snapshot } = await readSnapshot(context, threadId)
  const mode = await modeOf(context, { threadId, tree, after })
  const own = present ?? cursorOf({ sequence: snapshot.lastSequence, streamed: null })
  return {
    type: 'snapshot.updated',
    cursor: mode === 'replay' ? String(after) : own,
    timestamp: new Date().toISOString(),
    schemaVersion: SCHEMA_VERSION,
    threadId,
    payload: { mode, snapshot },
  }
}

async function modeOf(context: ClientContext, { threadId, tree, after }: Beginning): Promise<SnapshotMode> {
  if (after === undefined) return 'first'
  try {
    if (tree) await requireTreeCursor(context, threadId, after)
    return tree || (await isStored(context, threadId, parsePosition(after).sequence)) ? 'replay' : 'repair'
  } catch (error) {
    if (ConfigError.isInstance(error)) return 'repair'
    throw error
  }
}

async function isStored(context: ClientContext, threadId: string, sequence: number): Promise<boolean> {
  const store = await context.store()
  return sequence <= (await store.read((db) => lastSequence(db, threadId)))
}

/** @throws ConfigError for an `after` that is none, and for one behind the newest event: nothing would come until that number is reached */
export async function requireCursor(
  context: ClientContext,
  threadId: string,
  after: number | string,
): Promise<void> {
  const { sequence } = parsePosition(after)
  if (sequence === 0 || (await isStored(context, threadId, sequence))) return
  throw new ConfigError([
    `Expected "after" to be the cursor of an event of thread "${threadId}", got ${sequence}, which it has not reached: begin at 0, or with its snapshot.`,
  ])
}

/**
 * Delivers the events of a thread, or of a tree, from a cursor on; on request it begins with the snapshot.
 * @throws ConfigError for an invalid `after`, unless it begins with the snapshot; ThreadNotFoundError
 */
export async function* streamEvents(
  context: ClientContext,
  threadId: string,
  { snapshot = false, tree = false, after, ...rest }: FollowEvents & { readonly snapshot?: boolean },
): AsyncGenerator<ThreadEvent | SnapshotUpdated, void, undefined> {
  let place = after ?? 0
  if (snapshot) {
    const first = await beginWithSnapshot(context, { threadId, tree, after })
    if (rest.signal?.aborted === true) return
    yield first
    place = first.cursor
  }
  const options = { ...rest, after: place }
  yield* tree ? followTree(context, threadId, options) : followEvents(context, threadId, options)
}

const ROWS = 50

/** Pauses between two looks, in milliseconds: the shortest where the order of the newest events is not settled yet. */
const PAUSES = { unsettled: 20, longest: 1_000 } as const

interface FollowTree {
  readonly after: number | string
  readonly follow?: boolean
  readonly signal?: AbortSignal
}

/**
 * Delivers the facts of all threads of a tree. Ends once all its threads are closed.
 * @throws ConfigError for a thread that is no root, and for an `after` that is no cursor of this tree; ThreadNotFoundError
 */
async function* followTree(
  context: ClientContext,
  root: string,
  { after, follow = true, signal }: FollowTree,
): AsyncGenerator<ThreadEvent, void, undefined> {
  const store = await context.store()
  const tree = await openTree(store, root)
  let place = await tree.placeOf(after)
  const isAborted = (): boolean => signal?.aborted === true
  const changes = countChanges()
  const watch = watchTree(store, signal, changes.add)
  try {
    if (follow) watch.add(await store.read((db) => openThreads(db, root)))
    for (;;) {
      const { version } = changes
      // Before the page: whatever a closed thread has written is committed then.
      const isOver = follow && (await store.read((db) => openThreads(db, root, 1))).length === 0
      const page = await store.readAllEvents({ after: place, rows: ROWS, of: { root } })
      watch.add(page.events.map(({ threadId }) => threadId))
      for await (const event of joined(store, page)) {
        if (isAborted()) return
        yield { ...event.fact, cursor: tree.cursorOf(event.cursor) }
      }
      place = page.next
      if (page.more) continue
      if (page.settled && (isOver || !follow)) return
      if (isAborted()) return
      await changes.wait(version, page.settled ? PAUSES.longest : PAUSES.unsettled)
      if (isAborted()) return
    }
  } finally {
    watch.end()
  }
}

/** The cursor of a tree behind all events that are settled. @throws as `followTree` */
async function presentTreeCursor(context: ClientContext, root: string): Promise<string> {
  const store = await context.store()
  const tree = await openTree(store, root)
  return tree.cursorOf((await store.readEventEnds()).settled)
}

/** @throws ConfigError for a thread that is no root, and for an `after` that is no cursor of this tree; ThreadNotFoundError */
export async function requireTreeCursor(
  context: ClientContext,
  root: string,
  after: number | string,
): Promise<void> {
  const tree = await openTree(await context.store(), root)
  await tree.placeOf(after)
}

/** Whether all threads of a tree are closed. */
export async function isTreeClosed(context: ClientContext, root: string): Promise<boolean> {
  const store = await context.store()
  return (await store.read((db) => openThreads(db, root, 1))).length === 0
}

interface Tree {
  readonly cursorOf: (place: string) => string
  /** @throws ConfigError */
  readonly placeOf: (after: number | string) => Promise<string | null>
}

/** @throws ConfigError for a subagent; ThreadNotFoundError */
async function openTree(store: Store, root: string): Promise<Tree> {
  const thread = await store.read((db) => requireThread(db, root))
  if (thread.root_thread_id !== root)
    throw new ConfigError([
      `Expected the root of a tree for the events of a tree, got a subagent: read those of "${thread.root_thread_id}".`,
    ])
  const tag = createHash('sha256')
    .update(JSON.stringify([store.id, root]))
    .digest('hex')
    .slice(0, 12)
  return {
    cursorOf: (place) => `${tag}.${place}`,
    async placeOf(after) {
      if (after === 0 || after === '0') return null
      const [own, place] =
        /^([0-9a-f]{12})\.(\d{1,20}\.\d{1,15}(?:\.\d{1,10})?)$/.exec(String(after))?.slice(1) ?? []
      if (place === undefined) throw cursorError('another text')
      if (own !== tag) throw cursorError('one of another tree')
      if (isFutureCursor(place, await store.readEventEnds()))
        throw cursorError('one that is ahead of this store')
      return place
    },
  }
}

function cursorError(got: string): ConfigError {
  return new ConfigError([`Expected "after" to be the cursor of an event of this tree, or 0, got ${got}.`])
}

async function openThreads(db: Reader, root: string, most = 10_000): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('threads')
    .select('id')
    .where('root_thread_id', '=', root)
    .where('closed_at', 'is', null)
    .limit(most)
    .execute()
  return rows.map(({ id }) => id)
}

async function* joined(store: Store, { events }: AllEventsPage) {
  for (const event of events) {
    const fact = await store.read((db) => joinStored(db, store, event))
    yield { fact, cursor: event.cursor }
  }
}

interface TreeWatch {
  /** Watches these threads too: the first event of a thread tells that it is there. */
  add(threadIds: readonly string[]): void
  end(): void
}

/** Tells of each commit in the threads that it watches, and of an abort. */
function watchTree(store: Store, signal: AbortSignal | undefined, onChange: () => void): TreeWatch {
  const watched = new Map<string, () => void>()
  signal?.addEventListener('abort', onChange, { once: true })
  return {
    add(threadIds) {
      for (const id of threadIds) if (!watched.has(id)) watched.set(id, store.watch(id, onChange))
    },
    end() {
      signal?.removeEventListener('abort', onChange)
      for (const end of watched.values()) end()
    },
  }
}
