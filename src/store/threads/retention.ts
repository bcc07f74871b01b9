import { sql } from 'kysely'
import type { ExpressionBuilder } from 'kysely'
import { LIMITS } from '../../protocol/limits.js'
import type { OwnState, SessionState } from '../../protocol/payloads/sessions.js'
import { endChargeOf } from '../budgets/charges.js'
import { listStagedDigests } from '../calls/remote-calls.js'
import type { Schema } from '../schema.js'
import type { Reader, Store, Writer } from '../store.js'
import { subtreeOf } from './thread-tree.js'
import { readSessionWork } from './sessions.js'
import { findThread, requestTermination, updateThread } from './threads.js'
import { toMicros } from '../../protocol/time.js'
import type { Micros, Millis } from '../../protocol/time.js'

/** The end of a page. */
export interface ClosedTreeCursor {
  readonly closedAt: Micros
  readonly id: string
}

interface ClosedTrees {
  /** Microseconds. */
  readonly before: Micros
  readonly after: ClosedTreeCursor | null
  readonly limit: number
}

/**
 * Roots of trees that closed before that time, oldest first, including trees whose deletion has begun. Those of archived sessions are
 * not among them: these have a time of their own.
 */
export async function listClosedTrees(
  db: Reader,
  { before, after, limit }: ClosedTrees,
): Promise<readonly ClosedTreeCursor[]> {
  let query = db
    .selectFrom('threads')
    .select(['id', 'closed_at as closedAt'])
    .where('closed_at', 'is not', null)
    .where('closed_at', '<', before)
    .where((where) => where.or([where('archived_at', 'is', null), where('closed_at', '=', DELETED_AT)]))
    .where((where) =>
      where.or([
        where('parent_thread_id', 'is', null),
        where('closed_at', '=', DELETED_AT),
        // Its parent is in another store, or was deleted alone.
        where.not(
          where.exists(
            where
              .selectFrom('threads as parent')
              .select('parent.id')
              .whereRef('parent.id', '=', 'threads.parent_thread_id'),
          ),
        ),
      ]),
    )
  if (after !== null)
    query = query.where((where) =>
      where(where.refTuple('closed_at', 'id'), '>', where.tuple(after.closedAt, after.id)),
    )
  const rows = await query.orderBy('closed_at').orderBy('id').limit(limit).execute()
  return rows.flatMap(({ id, closedAt }) => (closedAt === null ? [] : [{ id, closedAt }]))
}

/** The number of threads in a tree if all of them closed before that time or their deletion has begun; else null. */
export async function closedTreeSize(db: Reader, threadId: string, before: Micros): Promise<number | null> {
  const threads = await subtreeOf(db, threadId)
  if (threads.at(-1)?.closedAt === DELETED_AT) return threads.length
  const isOld = threads.every(({ closedAt }) => closedAt !== null && closedAt < before)
  return isOld ? threads.length : null
}

/** The end of a page of sessions: the time by which they are sorted, and the id. */
export interface SessionPlace {
  readonly at: Micros
  readonly id: string
}

interface OldSessions {
  readonly before: Micros
  readonly after: SessionPlace | null
  readonly limit: number
}

/** Sessions that were archived before that time, oldest first. */
export function listArchivedSessions(
  db: Reader,
  { before, after, limit }: OldSessions,
): Promise<readonly SessionPlace[]> {
  return db
    .selectFrom('threads')
    .select(['id', sql<Micros>`archived_at`.as('at')])
    .where('archived_at', 'is not', null)
    .where('archived_at', '<', before)
    .where((where) =>
      after === null
        ? where.lit(true)
        : where(where.refTuple('archived_at', 'id'), '>', where.tuple(after.at, after.id)),
    )
    .orderBy('archived_at')
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** The states of sessions that a sweep may end, first those that it has begun to end. One that waits for a person is active by itself. */
export const MAY_BE_INACTIVE: readonly OwnState[] = ['abandoned', 'completed', 'failed', 'idle', 'active']

/** The reason of such an end. */
const INACTIVE = 'inactive'

/** Open sessions whose root has that state by itself and no activity since that time, oldest first. */
export function listQuietSessions(
  db: Reader,
  { before, after, limit, own }: OldSessions & { readonly own: OwnState },
): Promise<readonly SessionPlace[]> {
  return db
    .selectFrom('threads')
    .select(['id', 'last_activity_at as at'])
    .where('parent_thread_id', 'is', null)
    .where('archived_at', 'is', null)
    .where('session_state', '=', own)
    .where('closed_at', 'is', null)
    .where('last_activity_at', '<=', before)
    .where((where) =>
      after === null
        ? where.lit(true)
        : where(where.refTuple('last_activity_at', 'id'), '>', where.tuple(after.at, after.id)),
    )
    .orderBy('last_activity_at')
    .orderBy('id')
    .limit(limit)
    .execute()
}

interface Inactivity {
  readonly sessionId: string
  /** Microseconds; a session with a later activity is in use. */
  readonly before: Micros
  readonly now: Micros
}

/**
 * Whether nobody has used a session since that time: nothing of it runs, waits to run or is scheduled, no person has taken over, and no
 * request ends by itself later. One that a sweep has begun to end is among them.
 */
export async function isInactive(db: Reader, { sessionId, before, now }: Inactivity): Promise<boolean> {
  const root = await findThread(db, sessionId)
  if (root === null || root.closed_at !== null) return false
  if (root.terminate_requested_at !== null) return root.terminate_reason === INACTIVE
  const { state, lastActivityAt, hasMessages, hasEffects, requests } = await readSessionWork(db, root)
  const rests = RESTING.includes(state) && !hasMessages && !hasEffects
  return rests && lastActivityAt <= before && requests.every((endsAt) => endsAt === null || endsAt <= now)
}

const RESTING: readonly SessionState[] = ['idle', 'completed', 'failed']

/**
 * Begins the end of a session that nobody uses: from this commit on it accepts nothing (T8). An idle one is abandoned; one that has
 * completed or failed stays so. False: it is in use.
 */
export async function endInactive(tx: Writer, inactivity: Inactivity): Promise<boolean> {
  if (!(await isInactive(tx, inactivity))) return false
  const { sessionId, now } = inactivity
  await requestTermination(tx, { threadId: sessionId, reason: INACTIVE, now })
  await tx
    .updateTable('threads')
    .set({ session_state: 'abandoned' })
    .where('id', '=', sessionId)
    .where('session_state', 'in', ['idle', 'active'])
    .execute()
  return true
}

/** Tables with rows of a thread, and the column that is unique within a thread. */
const OWNED = {
  messages: 'id',
  tool_calls: 'id',
  operations: 'id',
  runs: 'number',
  files: 'path',
  thread_values: 'key',
  events: 'id',
  webhooks: 'id',
  deltas: 'id',
  stops: 'id',
  pending: 'id',
  grants: 'id',
  spending: 'owner',
  effects: 'id',
  variables: 'name',
  boundaries: 'id',
  errors: 'id',
  thread_tags: 'tag',
  busy_sessions: 'account',
  commands: 'key',
} as const

/** The closing time of a tree whose deletion has begun: before all others, so that the next sweep finds it first. */
const DELETED_AT = 0

/** Marks the deletion of a tree as begun. Returns false if the thread is open or missing. */
export async function markDeleting(tx: Writer, threadId: string): Promise<boolean> {
  const found = await tx
    .selectFrom('threads')
    .select('closed_at')
    .where('id', '=', threadId)
    .executeTakeFirst()
  if (found === undefined || found.closed_at === null) return false
  return updateThread(tx, threadId, { status: 'deleting', closed_at: DELETED_AT })
}

/**
 * Deletes all rows of one closed thread in batches, so that no transaction is long. The row of the thread is last, so that an
 * interrupted deletion is repeated. Bytes of files stay until a sweep finds that no file names them.
 */
export async function deleteThreadRows(store: Store, threadId: string): Promise<void> {
  await endChargeOf(store, { threadId, at: null })
  for (const [table, key] of Object.entries(OWNED))
    await deleteInBatches(store, (tx) => deleteBatch(tx, { table, key, owner: 'thread_id', threadId }))
  const children = { table: 'children', key: 'reference', owner: 'parent_thread_id', threadId }
  await deleteInBatches(store, (tx) => deleteBatch(tx, children))
  await store.write((tx) => tx.deleteFrom('threads').where('id', '=', threadId).execute())
}

interface Batch {
  readonly table: string
  readonly key: string
  readonly owner: string
  readonly threadId: string
}

async function deleteBatch(tx: Writer, { table, key, owner, threadId }: Batch): Promise<number> {
  const [from, column, by] = [sql.table(table), sql.ref(key), sql.ref(owner)]
  const some = sql`select ${column} from ${from} where ${by} = ${threadId} limit ${sql.lit(LIMITS.deletedAtOnce)}`
  const deletion = sql`delete from ${from} where ${by} = ${threadId} and ${column} in (${some}) returning 1`
  return (await deletion.execute(tx)).rows.length
}

/** Repeats a deletion until a batch is not full; returns how many rows it deleted. */
async function deleteInBatches(store: Store, batch: (tx: Writer) => Promise<number>): Promise<number> {
  for (let deleted = 0; ;) {
    const count = await store.write(batch)
    deleted += count
    if (count < LIMITS.deletedAtOnce) return deleted
  }
}

/** Sweeps delete what no thread uses any more: bytes, plans, errors. */
interface Sweep {
  readonly before: Millis
  readonly dryRun: boolean
}

/**
 * Deletes bytes that no file names and that were not written since that time. A copy of a file is visible in the transaction
 * that decides, or begins after it and finds no source. Writing the same bytes again renews their age.
 */
export async function sweepBlobs(store: Store, { before, dryRun }: Sweep): Promise<number> {
  // Read first: bytes that are staged later are young. The worker that stores their result may be away for days.
  const staged = await store.read(listStagedDigests)
  let swept = 0
  for (let after = ''; ;) {
    const digests = await store.read((db) => listUnnamedBlobs(db, before, after))
    for (const digest of digests) {
      if (staged.has(digest)) continue
      if (!dryRun && !(await deleteBlob(store, digest, before))) continue
      swept += 1
    }
    const last = digests.at(-1)
    if (last === undefined) break
    after = last
  }
  const uncommitted = await sweepUncommitted(store, { staged, before, dryRun })
  if (!dryRun) await store.blobs.deleteDrafts(before)
  return swept + uncommitted
}

async function listUnnamedBlobs(db: Reader, before: Millis, after: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('blobs')
    .select('digest')
    .where('digest', '>', after)
    .where('created_at', '<', toMicros(before))
    .where(isUnnamed)
    .orderBy('digest')
    .limit(LIMITS.deletedAtOnce)
    .execute()
  return rows.map(({ digest }) => digest)
}

function isUnnamed(where: ExpressionBuilder<Schema, 'blobs'>) {
  return where.not(
    where.exists(where.selectFrom('files').select('files.path').whereRef('files.blob', '=', 'blobs.digest')),
  )
}

/** Deletes the row first: a later file with these bytes then writes them again, which renews their age. */
async function deleteBlob(store: Store, digest: string, before: Millis): Promise<boolean> {
  const forgotten = await store.write(async (tx) => {
    const result = await tx
      .deleteFrom('blobs')
      .where('digest', '=', digest)
      .where('created_at', '<', toMicros(before))
      .where(isUnnamed)
      .executeTakeFirst()
    return result.numDeletedRows === 1n
  })
  return forgotten && (await store.blobs.delete(digest, before))
}

/** Deletes bytes of a transaction that never committed, such as those of an interrupted tool. */
async function sweepUncommitted(
  store: Store,
  { staged, before, dryRun }: Sweep & { readonly staged: ReadonlySet<string> },
): Promise<number> {
  let swept = 0
  for await (const { digest, writtenAt } of store.blobs.list()) {
    if (writtenAt >= before || staged.has(digest) || (await store.read((db) => isKnown(db, digest)))) continue
    if (!dryRun && !(await store.blobs.delete(digest, before))) continue
    swept += 1
  }
  return swept
}

async function isKnown(db: Reader, digest: string): Promise<boolean> {
  const row = await db.selectFrom('blobs').select('digest').where('digest', '=', digest).executeTakeFirst()
  return row !== undefined
}

/** Deletes errors of deleted threads, and errors without a thread. */
export async function sweepErrors(store: Store, { before, dryRun }: Sweep): Promise<number> {
  const old = (db: Reader) =>
    db
      .selectFrom('errors')
      .where('at', '<', toMicros(before))
      .where((where) =>
        where.not(
          where.exists(
            where.selectFrom('threads').select('threads.id').whereRef('threads.id', '=', 'errors.thread_id'),
          ),
        ),
      )
  if (dryRun)
    return store.read(async (db) => {
      const { count } = await old(db)
        .select((select) => select.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow()
      return Number(count)
    })
  return deleteInBatches(store, async (tx) => {
    const ids = (await old(tx).select('errors.id').limit(LIMITS.deletedAtOnce).execute()).map(({ id }) => id)
    if (ids.length > 0) await tx.deleteFrom('errors').where('id', 'in', ids).execute()
    return ids.length
  })
}

/** Deletes plans that no open run has: the next run of an agent stores its plan again. */
export async function sweepPlans(store: Store, { before, dryRun }: Sweep): Promise<number> {
  const old = await store.read((db) =>
    db.selectFrom('plans').select('digest').where('created_at', '<', toMicros(before)).execute(),
  )
  let swept = 0
  for (const { digest } of old) {
    const isGone = dryRun
      ? !(await store.read((db) => isPlanInUse(db, digest)))
      : await store.write((tx) => deletePlan(tx, digest))
    if (isGone) swept += 1
  }
  return swept
}

/** Checks and deletes in one transaction: a run that begins concurrently has stored its plan before, or stores it again. */
async function deletePlan(tx: Writer, digest: string): Promise<boolean> {
  if (await isPlanInUse(tx, digest)) return false
  const result = await tx.deleteFrom('plans').where('digest', '=', digest).executeTakeFirst()
  return result.numDeletedRows === 1n
}

/** Each run begins with an operation of one of these kinds, and its detail names the plan of the run. */
const WITH_PLAN = ['model', 'begin', 'activation']

async function isPlanInUse(db: Reader, digest: string): Promise<boolean> {
  const operations = await db
    .selectFrom('runs')
    .innerJoin('operations', (join) =>
      join.onRef('operations.thread_id', '=', 'runs.thread_id').onRef('operations.run', '=', 'runs.number'),
    )
    .select('operations.detail')
    .where('runs.ended_at', 'is', null)
    .where('operations.kind', 'in', WITH_PLAN)
    .execute()
  // Written by the activities of a step: the store's boundary.
  return operations.some(({ detail }) => {
    const { plan } = (JSON.parse(detail ?? 'null') ?? {}) as { readonly plan?: string }
    return plan === digest
  })
}
