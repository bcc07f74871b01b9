import { sql } from 'kysely'
import type { ExpressionBuilder } from 'kysely'
import { LIMITS } from '../../protocol/limits.js'
import { stagedDigests } from '../calls/remote-calls.js'
import type { Schema } from '../schema.js'
import type { Reader, Store, Writer } from '../store.js'
import { subtreeOf } from './thread-tree.js'
import { updateThread } from './threads.js'

/** Where a page ended. */
export interface ClosedTreeCursor {
  readonly closedAt: number
  readonly id: string
}

interface ClosedTrees {
  /** Microseconds. */
  readonly before: number
  readonly after: ClosedTreeCursor | null
  readonly limit: number
}

/** Tops of trees that closed before then, the oldest first; also those whose deletion was begun. */
export async function closedTops(
  db: Reader,
  { before, after, limit }: ClosedTrees,
): Promise<readonly ClosedTreeCursor[]> {
  let query = db
    .selectFrom('threads')
    .select(['id', 'closed_at as closedAt'])
    .where('closed_at', 'is not', null)
    .where('closed_at', '<', before)
    .where((where) =>
      where.or([
        where('parent_thread_id', 'is', null),
        where('closed_at', '=', DELETED_AT),
        // Its parent is in no store, or was deleted by itself.
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

/** How many threads a tree has, if all of them closed before then, or their deletion was begun; else null. */
export async function closedTreeSize(db: Reader, threadId: string, before: number): Promise<number | null> {
  const threads = await subtreeOf(db, threadId)
  if (threads.at(-1)?.closedAt === DELETED_AT) return threads.length
  const isOld = threads.every(({ closedAt }) => closedAt !== null && closedAt < before)
  return isOld ? threads.length : null
}

/** Tables of a thread's rows, with the column that tells two rows of one thread apart. */
const OWNED = {
  messages: 'id',
  tool_calls: 'id',
  operations: 'id',
  runs: 'number',
  files: 'path',
  thread_values: 'key',
  events: 'id',
  deltas: 'id',
  pending: 'id',
  effects: 'id',
  variables: 'name',
  boundaries: 'id',
  errors: 'id',
  thread_tags: 'tag',
} as const

/** When the top of a tree closed whose deletion was begun: before all others, so that the next sweep finds it first. */
const DELETED_AT = 0

/** From this commit on the tree is on its way out. False if the thread is open, or not there any more. */
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
 * Deletes all rows of one closed thread, in batches, so that no transaction is long; its own row is the last, so that a
 * deletion that was cut off is done again. Bytes of files stay until a sweep finds that no file names them.
 */
export async function deleteThreadRows(store: Store, threadId: string): Promise<void> {
  for (const [table, key] of Object.entries(OWNED))
    await repeated(store, (tx) => deleteBatch(tx, { table, key, owner: 'thread_id', threadId }))
  const children = { table: 'children', key: 'reference', owner: 'parent_thread_id', threadId }
  await repeated(store, (tx) => deleteBatch(tx, children))
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

/** Until a batch is not full. */
async function repeated(store: Store, batch: (tx: Writer) => Promise<number>): Promise<number> {
  for (let deleted = 0; ;) {
    const count = await store.write(batch)
    deleted += count
    if (count < LIMITS.deletedAtOnce) return deleted
  }
}

/** What no thread uses any more: bytes, plans, errors. */

interface Sweep {
  /** Milliseconds since 1970. */
  readonly before: number
  readonly dryRun: boolean
}

/**
 * Deletes bytes that no file names, and that nobody wrote since. A copy names what another file names: it is seen in the
 * transaction that decides, or comes after it and finds no source. Bytes that are written anew are young.
 */
export async function sweepBlobs(store: Store, { before, dryRun }: Sweep): Promise<number> {
  // First: what is staged from now on is young. The worker that stores its result may be away for days.
  const staged = await store.read(stagedDigests)
  let swept = 0
  for (let after = ''; ;) {
    const digests = await store.read((db) => unnamed(db, before, after))
    for (const digest of digests) {
      if (staged.has(digest)) continue
      if (!dryRun && !(await forget(store, digest, before))) continue
      swept += 1
    }
    const last = digests.at(-1)
    if (last === undefined) break
    after = last
  }
  const untold = await sweepUntold(store, { staged, before, dryRun })
  if (!dryRun) await store.blobs.deleteDrafts(before)
  return swept + untold
}

async function unnamed(db: Reader, before: number, after: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('blobs')
    .select('digest')
    .where('digest', '>', after)
    .where('created_at', '<', before * 1000)
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

/** Its row first: from then on whoever names it again writes it anew, and makes it young. */
async function forget(store: Store, digest: string, before: number): Promise<boolean> {
  const forgotten = await store.write(async (tx) => {
    const result = await tx
      .deleteFrom('blobs')
      .where('digest', '=', digest)
      .where('created_at', '<', before * 1000)
      .where(isUnnamed)
      .executeTakeFirst()
    return result.numDeletedRows === 1n
  })
  return forgotten && (await store.blobs.delete(digest, before))
}

/** Bytes whose transaction never came: a tool that was cut off had written them. */
async function sweepUntold(
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

/** Deletes errors of threads that are gone, and of none. */
export async function sweepErrors(store: Store, { before, dryRun }: Sweep): Promise<number> {
  const old = (db: Reader) =>
    db
      .selectFrom('errors')
      .where('at', '<', before * 1000)
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
  return repeated(store, async (tx) => {
    const ids = (await old(tx).select('errors.id').limit(LIMITS.deletedAtOnce).execute()).map(({ id }) => id)
    if (ids.length > 0) await tx.deleteFrom('errors').where('id', 'in', ids).execute()
    return ids.length
  })
}

/** Deletes plans that no run under way has: the next run of an agent stores its plan anew. */
export async function sweepPlans(store: Store, { before, dryRun }: Sweep): Promise<number> {
  const old = await store.read((db) =>
    db
      .selectFrom('plans')
      .select('digest')
      .where('created_at', '<', before * 1000)
      .execute(),
  )
  let swept = 0
  for (const { digest } of old) {
    const isGone = dryRun
      ? !(await store.read((db) => isUsed(db, digest)))
      : await store.write((tx) => deletePlan(tx, digest))
    if (isGone) swept += 1
  }
  return swept
}

/** Looked at and deleted at once: a run that begins meanwhile has stored it already, or stores it again. */
async function deletePlan(tx: Writer, digest: string): Promise<boolean> {
  if (await isUsed(tx, digest)) return false
  const result = await tx.deleteFrom('plans').where('digest', '=', digest).executeTakeFirst()
  return result.numDeletedRows === 1n
}

async function isUsed(db: Reader, digest: string): Promise<boolean> {
  const user = await db
    .selectFrom('runs')
    .innerJoin('operations', 'operations.thread_id', 'runs.thread_id')
    .select('operations.id')
    .where('runs.ended_at', 'is', null)
    .where('operations.kind', 'in', ['model', 'begin'])
    .where('operations.detail', 'like', `%"plan":"${digest}"%`)
    .limit(1)
    .executeTakeFirst()
  return user !== undefined
}
