import { sql } from 'kysely'
import type { Selectable, SelectQueryBuilder } from 'kysely'
import { storedPermissions } from '../../policy/judge.js'
import type { StoredPermissions, ThreadPermissions } from '../../policy/judge.js'
import type { Budgets } from '../../policy/budget.js'
import type { Permissions } from '../../policy/permissions.js'
import type { TerminatedBy } from '../../protocol/event-codes.js'
import { fact } from '../../protocol/facts.js'
import type { ForkedFrom } from '../../protocol/payloads/lifecycle.js'
import type { Side } from '../../protocol/plan.js'
import { appendEvents } from '../events.js'
import { BUDGET_COLUMNS } from '../budgets/subjects.js'
import type { StoredBudgets } from '../budgets/subjects.js'
import type { OwnState } from '../../protocol/payloads/sessions.js'
import type { JsonObject } from '../../protocol/values.js'
import { rowCodec } from '../row-codec.js'
import type { Decoded } from '../row-codec.js'
import type { Schema } from '../schema.js'
import type { Reader, Writer } from '../store.js'
import type { Micros } from '../../protocol/time.js'
import type { ThreadStatus } from '../../protocol/status.js'
import type { Escalation } from './session-state.js'

/** The control state that is recorded at the end of a run, so that a thread whose workflow is lost is reopened with it. */
export interface SettledState {
  /** The number of the run that ended. */
  readonly run: number
  /** The agent of the thread; after a handoff the new one, also before its first step. */
  readonly agent: string
  /** Sides whose prompts have been active under this agent: their immediate subagents have started. */
  readonly activated: readonly Side[]
  /** The side that acts next. Only a reopening records it, for a thread that lost its workflow within a run. */
  readonly side?: Side
}

/** How the work reached a subagent. */
export interface ThreadOrigin {
  /** The agents of the threads above it, the root's first, as they were when it was started. */
  readonly agents: readonly string[]
  /** The run of the parent that started it. */
  readonly run: number
}

/** Where a fork has its transcript from. The thread may have been deleted since. */
export interface ForkOrigin extends ForkedFrom {
  /** The place of that message in both transcripts; 0: there is none. */
  readonly position: number
  /** The number of runs of that thread: those of the fork are numbered behind them, because its messages name them. */
  readonly runs: number
}

type Columns = {
  tags: readonly string[]
  resumable: boolean
  snapshot: unknown
  settled: SettledState | null
  permissions: ThreadPermissions | null
  budgets: Budgets | null
  origin: ThreadOrigin | null
  forked_from: ForkOrigin | null
  session_state: OwnState
  metadata: JsonObject | null
  escalation: Escalation | null
}

/** The row of a thread; `snapshot` is the recorded snapshot. */
export type ThreadRecord = Decoded<Selectable<Schema['threads']>, Columns>

/** Columns that are left out have the values of an idle root thread without a user. */
export type NewThread = Pick<ThreadRecord, 'id' | 'agent' | 'created_at'> &
  Partial<Omit<ThreadRecord, 'last_sequence'>>

/** Counters change only in the functions that allocate from them, and tags by `setTags`. */
type ThreadPatch = Partial<Omit<ThreadRecord, 'id' | 'tags' | 'last_sequence' | 'last_position'>>

const codec = rowCodec<Selectable<Schema['threads']>, Columns>({
  json: [
    'tags',
    'snapshot',
    'settled',
    'permissions',
    'budgets',
    'origin',
    'forked_from',
    'metadata',
    'escalation',
  ],
  flags: ['resumable'],
})

/** Returns false, and changes nothing, if the thread exists. */
export async function insertThread(tx: Writer, thread: NewThread): Promise<boolean> {
  const row = codec.toRow({
    root_thread_id: thread.id,
    depth: 0,
    tags: [],
    resumable: true,
    last_activity_at: thread.created_at,
    status: 'idle',
    session_state: 'idle',
    last_sequence: 0,
    last_position: 0,
    ...thread,
  })
  const result = await tx
    .insertInto('threads')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  if (result.numInsertedOrUpdatedRows !== 1n) return false
  await insertTags(tx, thread.id, thread.tags ?? [])
  return true
}

/** Replaces the tags of a thread. */
export async function setTags(tx: Writer, threadId: string, tags: readonly string[]): Promise<void> {
  const unique = [...new Set(tags)]
  await tx
    .updateTable('threads')
    .set({ tags: JSON.stringify(unique) })
    .where('id', '=', threadId)
    .execute()
  await tx.deleteFrom('thread_tags').where('thread_id', '=', threadId).execute()
  await insertTags(tx, threadId, unique)
}

async function insertTags(tx: Writer, threadId: string, tags: readonly string[]): Promise<void> {
  if (tags.length === 0) return
  const rows = [...new Set(tags)].map((tag) => ({ tag, thread_id: threadId }))
  await tx.insertInto('thread_tags').values(rows).execute()
}

/** The agents that the work has come through, the root's first, the thread's own last. */
export function agentChainOf({ agent, origin }: Pick<ThreadRecord, 'agent' | 'origin'>): readonly string[] {
  return [...(origin?.agents ?? []), agent]
}

/** Null for a thread that is no fork. */
export function forkedFromOf({ forked_from: from }: Pick<ThreadRecord, 'forked_from'>): ForkedFrom | null {
  return from === null ? null : { threadId: from.threadId, messageId: from.messageId }
}

export async function findThread(db: Reader, id: string): Promise<ThreadRecord | null> {
  const row = await db.selectFrom('threads').selectAll().where('id', '=', id).executeTakeFirst()
  return row === undefined ? null : codec.fromRow(row)
}

/**
 * The columns of a thread's row that a step needs. The snapshot is not among them: it is large, and written at run ends.
 */
const STEP_COLUMNS = [
  'agent',
  'parent_thread_id',
  'depth',
  'last_activity_at',
  'terminate_requested_at',
] as const

export type ThreadOfStep = Pick<ThreadRecord, (typeof STEP_COLUMNS)[number]>

export async function findThreadForStep(db: Reader, id: string): Promise<ThreadOfStep | null> {
  const row = await db.selectFrom('threads').select(STEP_COLUMNS).where('id', '=', id).executeTakeFirst()
  return row ?? null
}

export interface ThreadOfCall extends ThreadOfStep {
  readonly budgets: StoredBudgets
  readonly permissions: StoredPermissions
}

/** As `findThreadForStep`, with all budgets and permissions that the store has for a call of the run, in one statement by keys. */
export async function findThreadForCall(
  db: Reader,
  { threadId, run }: { readonly threadId: string; readonly run: number },
): Promise<ThreadOfCall | null> {
  const row = await db
    .selectFrom('threads')
    .select(STEP_COLUMNS)
    .select(BUDGET_COLUMNS)
    .select((thread) => [
      'permissions as thread',
      thread
        .selectFrom('owner_permissions as owner')
        .select('owner.permissions')
        .whereRef('owner.account', '=', 'threads.account')
        .where('owner.user_id', '=', '')
        .as('account'),
      thread
        .selectFrom('owner_permissions as owner')
        .select('owner.permissions')
        .where('owner.account', '=', thread.fn.coalesce('threads.account', thread.val('')))
        .whereRef('owner.user_id', '=', 'threads.user_id')
        .as('user'),
      thread
        .selectFrom('runs')
        .select('runs.permissions')
        .whereRef('runs.thread_id', '=', 'threads.id')
        .where('runs.number', '=', run)
        .as('run'),
    ])
    .where('id', '=', threadId)
    .executeTakeFirst()
  if (row === undefined) return null
  const { account, user, thread, run: ofRun, ...step } = row
  const found = {
    ...{ account: readJson<Permissions>(account), user: readJson<Permissions>(user) },
    ...{ thread: readJson<ThreadPermissions>(thread), run: readJson<Permissions>(ofRun) },
  }
  return { ...step, budgets: step, permissions: storedPermissions(found) }
}

/** Columns that this store has written: its boundary. */
function readJson<Value>(text: string | null): Value | null {
  return text === null ? null : (JSON.parse(text) as Value)
}

/** Returns false if there is no such thread. */
export async function updateThread(tx: Writer, id: string, patch: ThreadPatch): Promise<boolean> {
  const result = await tx
    .updateTable('threads')
    .set(codec.toRow(patch))
    .where('id', '=', id)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

interface TerminationRequest {
  readonly threadId: string
  readonly reason: string | null
  /** @default 'runtime' */
  readonly by?: TerminatedBy
  readonly now: Micros
}

/** T8: from this commit on the thread accepts nothing, and nothing of it begins. */
export async function requestTermination(
  tx: Writer,
  { threadId, reason, by = 'runtime', now }: TerminationRequest,
): Promise<'requested' | 'already' | 'missing' | 'closed'> {
  const result = await tx
    .updateTable('threads')
    .set({ terminate_requested_at: now, terminate_reason: reason })
    .where('id', '=', threadId)
    .where('terminate_requested_at', 'is', null)
    .where('closed_at', 'is', null)
    .executeTakeFirst()
  if (result.numUpdatedRows === 1n) {
    const events = [fact('thread.terminating', { by })]
    await appendEvents(tx, { threadId, events, now, movesActivity: false })
    return 'requested'
  }
  const thread = await tx
    .selectFrom('threads')
    .select(['terminate_requested_at'])
    .where('id', '=', threadId)
    .executeTakeFirst()
  if (thread === undefined) return 'missing'
  return thread.terminate_requested_at === null ? 'closed' : 'already'
}

export interface ThreadFilter {
  readonly agent?: string
  readonly status?: string
  readonly userId?: string
  /** Null: only threads without a parent. */
  readonly parent?: string | null
  /** All threads of a tree, including its root. */
  readonly root?: string
  readonly tag?: string
  readonly account?: string
  /** A text that the title, the id, the agent or the user contains; ASCII letters in either case. */
  readonly search?: string
  readonly session?: SessionColumnsFilter
}

/** Threads by the columns of their sessions. */
interface SessionColumnsFilter {
  readonly archived?: boolean
  readonly escalated?: true
  /** The state that it has by itself. */
  readonly own?: OwnState
  /** One that it does not have. */
  readonly notOwn?: OwnState
  /** A thread below it is active by itself, or a thread of its tree asks a person. */
  readonly above?: 'active' | 'request'
}

/** The end of a page. A thread that became active since then moved to an earlier page. */
export interface ThreadCursor {
  readonly lastActivityAt: Micros
  readonly id: string
}

interface ListThreads {
  readonly filter?: ThreadFilter
  readonly after?: ThreadCursor | null
  readonly limit: number
}

/** One page, latest activity first; `next` is null on the last page. */
export async function listThreads(
  db: Reader,
  { filter = {}, after = null, limit }: ListThreads,
): Promise<{ readonly threads: readonly ThreadRecord[]; readonly next: ThreadCursor | null }> {
  let query = selectThreads(db, filter).selectAll()
  if (after !== null) {
    query = query.where((where) =>
      where(where.refTuple('last_activity_at', 'id'), '<', where.tuple(after.lastActivityAt, after.id)),
    )
  }
  const rows = await query
    .orderBy(filter.session?.above === undefined ? 'last_activity_at' : UNINDEXED, 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute()
  const threads = rows.slice(0, limit).map(codec.fromRow)
  const last = threads.at(-1)
  const more = rows.length > limit && last !== undefined
  return { threads, next: more ? { lastActivityAt: last.last_activity_at, id: last.id } : null }
}

/** The number of threads by status, among the `most` with the latest activity; `more`: there are others. */
export async function countThreads(
  db: Reader,
  { filter, most }: { readonly filter: ThreadFilter; readonly most: number },
): Promise<{ readonly counts: Readonly<Record<string, number>>; readonly more: boolean }> {
  const newest = selectThreads(db, filter)
    .select(SHOWN_STATUS.as('status'))
    .orderBy('last_activity_at', 'desc')
    .orderBy('id', 'desc')
    .limit(most + 1)
  const rows = await db
    .selectFrom(newest.as('newest'))
    .select(['status', (count) => count.fn.countAll<number>().as('threads')])
    .groupBy('status')
    .execute()
  const counts = rows.map(({ status, threads }) => [status, Number(threads)] as const)
  const total = counts.reduce((sum, [, threads]) => sum + threads, 0)
  return { counts: Object.fromEntries(counts), more: total > most }
}

/** The threads that a filter matches. */
function selectThreads(db: Reader, filter: ThreadFilter) {
  let query = db.selectFrom('threads')
  if (filter.agent !== undefined) query = query.where('agent', '=', filter.agent)
  if (filter.status !== undefined) query = whereStatus(query, filter.status)
  if (filter.userId !== undefined) query = query.where('user_id', '=', filter.userId)
  if (filter.parent === null) query = query.where('parent_thread_id', 'is', null)
  else if (filter.parent !== undefined) query = query.where('parent_thread_id', '=', filter.parent)
  const { account, session } = filter
  if (account !== undefined)
    query = query.where(session?.above === undefined ? 'account' : sql`account || ''`, '=', account)
  if (filter.root !== undefined) query = query.where('root_thread_id', '=', filter.root)
  const { tag } = filter
  if (tag !== undefined)
    query = query.where('id', 'in', (tags) =>
      tags.selectFrom('thread_tags').select('thread_id').where('tag', '=', tag),
    )
  query = selectSessions(query, session, filter.userId !== undefined || filter.tag !== undefined)
  const { search } = filter
  if (search !== undefined) {
    const pattern = `%${search.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
    query = query.where((where) =>
      where.or(
        (['title', 'id', 'agent', 'user_id'] as const).map(
          (column) => sql<boolean>`${where.fn<string>('lower', [column])} like lower(${pattern}) escape '\\'`,
        ),
      ),
    )
  }
  return query
}

type Threads = SelectQueryBuilder<Schema, 'threads', object>

/** Few threads are above others that work: reading all threads in order to find them would take long. */
const UNINDEXED = sql<Micros>`+last_activity_at`

/** Literals, not parameters: otherwise SQLite would not use the partial indexes. */
const [ACTIVE, OPEN] = [sql.lit('active'), sql.lit('open')]

/** `isNarrow`: the other conditions leave few threads, so that the index by state is the wrong one. */
function selectSessions(threads: Threads, filter: SessionColumnsFilter = {}, isNarrow: boolean): Threads {
  const { archived, escalated, own, notOwn, above } = filter
  let query = threads
  if (archived !== undefined) query = query.where('archived_at', archived ? 'is not' : 'is', null)
  if (escalated === true) query = query.where('escalation', 'is not', null)
  const state = isNarrow || above !== undefined ? sql<string>`session_state || ''` : 'session_state'
  if (own !== undefined) query = query.where(state, '=', own)
  if (notOwn !== undefined) query = query.where('session_state', '<>', notOwn)
  if (above === 'active')
    query = query.where('id', 'in', (inner) =>
      inner
        .selectFrom('threads as below')
        .select('below.root_thread_id')
        .where('below.session_state', '=', ACTIVE)
        .whereRef('below.id', '<>', 'below.root_thread_id'),
    )
  if (above === 'request')
    query = query.where('id', 'in', (inner) =>
      inner
        .selectFrom('pending')
        .innerJoin('threads as below', 'below.id', 'pending.thread_id')
        .select('below.root_thread_id')
        .where('pending.status', '=', OPEN),
    )
  return query
}

interface ThreadProgress {
  /** The thread id of the root of its tree. */
  readonly root: string
  readonly lastSequence: number
  readonly closed: boolean
}

/** The progress of a thread: a cheap read for watchers. Null if there is no such thread. */
export async function threadProgress(db: Reader, threadId: string): Promise<ThreadProgress | null> {
  const thread = await db
    .selectFrom('threads')
    .select(['root_thread_id as root', 'last_sequence', 'closed_at'])
    .where('id', '=', threadId)
    .executeTakeFirst()
  if (thread === undefined) return null
  const { root, last_sequence: lastSequence, closed_at: closedAt } = thread
  return { root, lastSequence, closed: closedAt !== null }
}

/**
 * The row of a thread says `running` from the start of a run to its end, also while the run waits for a person: no write tells of that, so
 * the open requests do. One for variables makes no run wait: its thread is blocked.
 */
const WAITS = sql<boolean>`pending.status = 'open' and pending.kind <> 'variables'`

/** Of requests of both kinds, leave to act comes first: it is the last one by its letters. */
const ASKED = sql<string>`max(case pending.kind when 'call' then 'waiting_input' else 'waiting_permission' end)`

/** The shown status, as an expression of a query of threads. */
const SHOWN_STATUS = sql<string>`case when threads.status <> 'running' then threads.status else coalesce((select ${ASKED} from pending where pending.thread_id = threads.id and ${WAITS}), 'running') end`

const DERIVED: readonly ThreadStatus[] = ['running', 'waiting_permission', 'waiting_input']

/** Threads of a shown status. */
function whereStatus(threads: Threads, status: string): Threads {
  if (!DERIVED.includes(status)) return threads.where('status', '=', status)
  return threads.where('status', '=', 'running').where(SHOWN_STATUS, '=', status)
}

/** What only a list shows of a thread. */
interface Shown {
  readonly shownStatus: ThreadStatus
  /** The beginning of its first message, if that is a user's; null until it is delivered. */
  readonly opening: string | null
}

/** Characters: a line of a list. */
const OPENING = 200

/** At most two statements, whatever the number of threads. */
export async function showThreads<Thread extends { readonly id: string; readonly status: ThreadStatus }>(
  db: Reader,
  threads: readonly Thread[],
): Promise<readonly (Thread & Shown)[]> {
  const running = threads.filter(({ status }) => status === 'running').map(({ id }) => id)
  const asked = await askedOf(db, running)
  const openings = await openingsOf(
    db,
    threads.map(({ id }) => id),
  )
  return threads.map((thread) => ({
    ...thread,
    shownStatus: asked.get(thread.id) ?? thread.status,
    opening: openings.get(thread.id) ?? null,
  }))
}

async function askedOf(db: Reader, ids: readonly string[]): Promise<ReadonlyMap<string, ThreadStatus>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('pending')
    .select(['thread_id', ASKED.as('asked')])
    .where('thread_id', 'in', ids)
    .where(WAITS)
    .groupBy('thread_id')
    .execute()
  return new Map(rows.map(({ thread_id: id, asked }) => [id, asked]))
}

async function openingsOf(db: Reader, ids: readonly string[]): Promise<ReadonlyMap<string, string | null>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('messages')
    .select(['thread_id', sql<string | null>`substr(content, 1, ${sql.lit(OPENING)})`.as('opening')])
    .where('thread_id', 'in', ids)
    .where('position', '=', 1)
    .where('role', '=', 'user')
    .where('silent', '=', 0)
    .execute()
  return new Map(rows.map(({ thread_id: id, opening }) => [id, opening]))
}
