/**
 * Sessions: a root thread with all threads below it.
 * Owns: the state of a session, lists of sessions by state, and what of a session runs, waits or is scheduled.
 * Does not own: the state of a single thread (`session-state.ts`), and what a command changes (`client/sessions`).
 * Invariants:
 * S1: one function derives the state. A list reads rows that may have a state by their columns, and derives it for each.
 * S2: a list by state reads by indexes, whatever the number of sessions.
 */
import { sql } from 'kysely'
import type { OwnState, SessionState } from '../../protocol/payloads/sessions.js'
import type { Micros } from '../../protocol/time.js'
import { countUndelivered } from '../messages/message-writes.js'
import type { Reader, Writer } from '../store.js'
import { lastRun } from './runs.js'
import { ownStateOf, terminatedState } from './session-state.js'
import { listThreads, updateThread } from './threads.js'
import type { ThreadCursor, ThreadFilter, ThreadRecord } from './threads.js'

/** Literals, not parameters: otherwise SQLite would not use the partial indexes. */
const ACTIVE = sql.lit('active')
const OPEN = sql.lit('open')

/** The states of these root threads, by id. */
export async function sessionStates(
  db: Reader,
  roots: readonly ThreadRecord[],
): Promise<ReadonlyMap<string, SessionState>> {
  const working = await listWorking(
    db,
    roots.filter((root) => endOf(root) === null).map(({ id }) => id),
  )
  return new Map(roots.map((root) => [root.id, stateOf(root, working.has(root.id))]))
}

function stateOf(root: ThreadRecord, isWorking: boolean): SessionState {
  if (root.archived_at !== null) return 'archived'
  const ended = endOf(root)
  if (ended !== null) return ended
  if (root.escalation !== null) return 'escalated'
  if (isWorking) return 'active'
  return root.session_state === 'active' ? 'idle' : root.session_state
}

/** T8: a thread whose termination is requested accepts nothing, even while no worker has closed it. */
function endOf(root: ThreadRecord): OwnState | null {
  if (root.closed_at !== null) return root.session_state
  if (root.terminate_requested_at === null) return null
  return terminatedState(root.session_state)
}

interface ActiveThread {
  readonly id: string
  readonly root: string
  readonly parent: string | null
  /** What its parent's registry says of it. */
  readonly blocking: number | null
  readonly entry: string | null
}

/** The roots of trees in which a thread works, and does not only wait for a person. */
async function listWorking(db: Reader, roots: readonly string[]): Promise<ReadonlySet<string>> {
  const active = roots.length === 0 ? [] : await listActive(db, roots)
  if (active.length === 0) return new Set()
  const [asking, calling] = await Promise.all([listAsking(db, roots), listCalling(db, roots)])
  const waits = (thread: ActiveThread): boolean =>
    thread.entry === 'deferred' ||
    asking.has(thread.id) ||
    // It does nothing else while a call of it waits for a child.
    (calling.has(thread.id) &&
      active.some((child) => child.parent === thread.id && child.blocking === 1 && waits(child)))
  return new Set(active.filter((thread) => !waits(thread)).map(({ root }) => root))
}

/** The threads of these trees that work, wait for a person, or have a message that they are about to take. */
export function listActive(db: Reader, roots: readonly string[]): Promise<readonly ActiveThread[]> {
  return db
    .selectFrom('threads')
    .leftJoin('children', (join) =>
      join
        .onRef('children.parent_thread_id', '=', 'threads.parent_thread_id')
        .onRef('children.reference', '=', 'threads.id'),
    )
    .select(['threads.id', 'threads.root_thread_id as root', 'threads.parent_thread_id as parent'])
    .select(['children.blocking', 'children.status as entry'])
    .where('threads.root_thread_id', 'in', roots)
    .where('threads.session_state', '=', ACTIVE)
    .where('threads.closed_at', 'is', null)
    .execute()
}

/** The active threads of which a person is asked something. Values that a subagent lacks are asked of its parent, which may work. */
async function listAsking(db: Reader, roots: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('threads')
    .innerJoin('pending', 'pending.thread_id', 'threads.id')
    .select('threads.id')
    .where('threads.root_thread_id', 'in', roots)
    .where('threads.session_state', '=', ACTIVE)
    .where('pending.status', '=', OPEN)
    .where('pending.kind', '<>', 'variables')
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/** The active threads with a call that has no result yet. */
async function listCalling(db: Reader, roots: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('threads')
    .innerJoin('tool_calls', 'tool_calls.thread_id', 'threads.id')
    .select('threads.id')
    .where('threads.root_thread_id', 'in', roots)
    .where('threads.session_state', '=', ACTIVE)
    .where('tool_calls.status', '=', OPEN)
    .execute()
  return new Set(rows.map(({ id }) => id))
}

export interface SessionFilter extends Pick<ThreadFilter, 'account' | 'agent' | 'search' | 'tag' | 'userId'> {
  readonly state?: SessionState
}

function placeOf({ last_activity_at: lastActivityAt, id }: ThreadRecord): ThreadCursor {
  return { lastActivityAt, id }
}

interface ListSessions {
  readonly filter: SessionFilter
  readonly after: ThreadCursor | null
  readonly limit: number
}

interface SessionPage {
  readonly sessions: readonly { readonly root: ThreadRecord; readonly state: SessionState }[]
  /** A page that is not full may have a next one. */
  readonly next: ThreadCursor | null
}

/** Rows are read in so many batches at most, so that a page takes a bounded time where few of them have the state. */
const BATCHES = 20

/** One page of sessions, latest activity of their roots first. */
export async function listSessions(db: Reader, { filter, after, limit }: ListSessions): Promise<SessionPage> {
  const { state: wanted } = filter
  const found: SessionPage['sessions'][number][] = []
  let place = after
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const roots = await readCandidates(db, { filter, after: place, limit: limit + 1 })
    const states = await sessionStates(db, roots)
    for (const root of roots) {
      const state = states.get(root.id) ?? root.session_state
      if (wanted !== undefined && state !== wanted) continue
      const last = found.at(-1)
      if (found.length === limit && last !== undefined) return { sessions: found, next: placeOf(last.root) }
      found.push({ root, state })
    }
    const last = roots.at(-1)
    if (last === undefined || roots.length <= limit) return { sessions: found, next: null }
    place = placeOf(last)
  }
  return { sessions: found, next: place }
}

/** The next roots, in order, that may have the state by their columns. */
async function readCandidates(
  db: Reader,
  { filter: { state, ...filter }, after, limit }: ListSessions,
): Promise<readonly ThreadRecord[]> {
  const pages = await Promise.all(
    sourcesOf(state).map((source) => listThreads(db, { filter: { ...filter, ...source }, after, limit })),
  )
  const roots = pages.flatMap(({ threads }) => threads)
  return roots.toSorted(byActivity).slice(0, limit)
}

function byActivity(one: ThreadRecord, other: ThreadRecord): number {
  return other.last_activity_at - one.last_activity_at || (one.id < other.id ? 1 : -1)
}

type Source = Pick<ThreadFilter, 'parent' | 'session'>

/**
 * Where roots of that state are found. No root is in two of them. `parent` is left out where only roots are found anyhow: SQLite would
 * find them by it, which reads all.
 */
function sourcesOf(state: SessionState | undefined): readonly Source[] {
  if (state === undefined) return [{ parent: null }]
  if (state === 'archived') return [{ session: { archived: true } }]
  const archived = false
  if (state === 'escalated') return [{ session: { archived, escalated: true } }]
  const own: Source = { parent: null, session: { archived, own: state as OwnState } }
  if (state === 'active') return [own, { session: { archived, notOwn: 'active', above: 'active' } }]
  // Its run waits for a person.
  if (state === 'idle') return [own, { session: { archived, own: 'active', above: 'request' } }]
  return [own]
}

/** What of a session runs, waits or is scheduled. */
export interface SessionWork {
  readonly root: ThreadRecord
  readonly state: SessionState
  /** Of all of its threads. */
  readonly lastActivityAt: Micros
  readonly hasMessages: boolean
  readonly hasEffects: boolean
  /** Open requests, by the time at which each ends by itself; null: never. */
  readonly requests: readonly (Micros | null)[]
}

/** Reads it in the transaction that decides by it. */
export async function readSessionWork(db: Reader, root: ThreadRecord): Promise<SessionWork> {
  const { id } = root
  const threads = () => db.selectFrom('threads').where('threads.root_thread_id', '=', id)
  const activity = await threads()
    .select(({ fn }) => fn.max('last_activity_at').as('last'))
    .executeTakeFirst()
  const message = await threads()
    .innerJoin('messages', 'messages.thread_id', 'threads.id')
    .select('messages.id')
    .where('messages.position', 'is', null)
    .where('messages.status', '=', 'pending')
    .limit(1)
    .executeTakeFirst()
  const effect = await threads()
    .innerJoin('effects', 'effects.thread_id', 'threads.id')
    .select('effects.id')
    .where('effects.status', '=', 'scheduled')
    .limit(1)
    .executeTakeFirst()
  const requests = await threads()
    .innerJoin('pending', 'pending.thread_id', 'threads.id')
    .select('pending.expires_at')
    .where('pending.status', '=', OPEN)
    .execute()
  return {
    root,
    state: (await sessionStates(db, [root])).get(id) ?? root.session_state,
    lastActivityAt: activity?.last ?? root.last_activity_at,
    hasMessages: message !== undefined,
    hasEffects: effect !== undefined,
    requests: requests.map(({ expires_at: at }) => at),
  }
}

/** The number of threads of a tree, its root included. */
export async function countTree(db: Reader, rootId: string): Promise<number> {
  const { count } = await db
    .selectFrom('threads')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('root_thread_id', '=', rootId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** The files of all threads of a tree, the newest first. */
export function listNewestFiles(db: Reader, rootId: string, limit: number) {
  return db
    .selectFrom('threads')
    .innerJoin('files', 'files.thread_id', 'threads.id')
    .select(['files.thread_id as threadId', 'files.path', 'files.name', 'files.size'])
    .select(['files.mime_type as mimeType', 'files.updated_at as updatedAt'])
    .where('threads.root_thread_id', '=', rootId)
    .where('files.is_directory', '=', 0)
    .orderBy('files.updated_at', 'desc')
    .orderBy('files.path')
    .limit(limit)
    .execute()
}

/** The names of what a thread keeps for its tools: variables, whose values are not shown, and values, by name. */
export async function listKept(db: Reader, threadId: string, limit: number) {
  const variables = await db
    .selectFrom('variables')
    .select(['name', 'type'])
    .where('thread_id', '=', threadId)
    .orderBy('name')
    .limit(limit)
    .execute()
  const values = await db
    .selectFrom('thread_values')
    .select('key')
    .where('thread_id', '=', threadId)
    .orderBy('key')
    .limit(limit)
    .execute()
  return { variables, values: values.map(({ key }) => key) }
}

/** A message that was to wake a thread is gone before a run took it: the thread is at rest as before. */
export async function restoreOwnState(tx: Writer, threadId: string): Promise<void> {
  const thread = await tx
    .selectFrom('threads')
    .select(['status', 'session_state'])
    .where('id', '=', threadId)
    .executeTakeFirst()
  if (thread?.session_state !== 'active' || (await countUndelivered(tx, threadId)) > 0) return
  const state = ownStateOf(thread.status, (await lastRun(tx, threadId))?.reason ?? undefined)
  if (state !== undefined && state !== 'active') await updateThread(tx, threadId, { session_state: state })
}
