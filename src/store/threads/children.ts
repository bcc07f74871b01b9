import type { Selectable } from 'kysely'
import type { DeliverReportAnswer } from '../../protocol/end-activities.js'
import { reportOperationId } from '../../protocol/ids.js'
import { LIMITS } from '../../protocol/limits.js'
import type { AttachmentRef } from '../../protocol/message.js'
import type { ChildReport } from '../../protocol/messages.js'
import { findOperation } from '../operations.js'
import { rowCodec } from '../row-codec.js'
import type { Decoded } from '../row-codec.js'
import type { Schema } from '../schema.js'
import type { Reader, Writer } from '../store.js'
import type { Micros } from '../../protocol/time.js'

/** The last report of a child; the attachments are files of the parent. */
export interface StoredReport {
  readonly kind: 'result' | 'failure'
  readonly text: string
  readonly attachments: readonly AttachmentRef[]
  /** The message that delivers it; left out: it is delivered with its group. */
  readonly messageId?: string
  /** The calls of the parent that it answers. */
  readonly invocations?: readonly string[]
}

type Columns = {
  resumable: boolean
  blocking: boolean
  parent_communication: 'implicit' | 'explicit'
  receives: 'a' | 'b' | null
  report: StoredReport | null
}

/** A child in the registry of its parent. */
export type ChildRecord = Decoded<Selectable<Schema['children']>, Columns>

export type NewChild = Omit<
  ChildRecord,
  | 'title'
  | 'message_id'
  | 'receives'
  | 'closed_at'
  | 'status_text'
  | 'thread_name'
  | 'spawn_group_id'
  | 'last_report'
  | 'report'
  | 'parent_communication'
> &
  Partial<ChildRecord>

type ChildPatch = Partial<Omit<ChildRecord, 'parent_thread_id' | 'reference' | 'last_report' | 'report'>>

const codec = rowCodec<Selectable<Schema['children']>, Columns>({
  json: ['report'],
  flags: ['resumable', 'blocking'],
})

/** Names a child of a thread; the reference is the id of the child thread. */
export interface ChildKey {
  readonly parentThreadId: string
  readonly reference: string
}

/**
 * Returns false, and changes nothing, if the child exists. Its creation time is moved behind those of the parent's other
 * children of its kind, so that calls of the same millisecond keep their order.
 */
export async function insertChild(tx: Writer, child: NewChild): Promise<boolean> {
  const last = await lastMadeAt(tx, child)
  const made = { ...child, created_at: Math.max(child.created_at, last + 1) }
  const result = await tx
    .insertInto('children')
    .values(codec.toRow({ last_report: 0, parent_communication: 'implicit' as const, ...made }))
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

async function lastMadeAt(db: Reader, { parent_thread_id, resumable }: NewChild): Promise<number> {
  const last = await db
    .selectFrom('children')
    .select('created_at')
    .where('parent_thread_id', '=', parent_thread_id)
    .where('resumable', '=', resumable ? 1 : 0)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return last?.created_at ?? 0
}

export async function findChild(
  db: Reader,
  parentThreadId: string,
  reference: string,
): Promise<ChildRecord | null> {
  const row = await db
    .selectFrom('children')
    .selectAll()
    .where('parent_thread_id', '=', parentThreadId)
    .where('reference', '=', reference)
    .executeTakeFirst()
  return row === undefined ? null : codec.fromRow(row)
}

/** The children in order of creation: those of one call are a microsecond apart. */
export async function listChildren(db: Reader, parentThreadId: string): Promise<readonly ChildRecord[]> {
  const rows = await db
    .selectFrom('children')
    .selectAll()
    .where('parent_thread_id', '=', parentThreadId)
    .orderBy('created_at')
    .orderBy('reference')
    .execute()
  return rows.map(codec.fromRow)
}

/** Resumable children that are not closed, of one agent or of all, in order of creation. */
export async function readOpenInstances(
  db: Reader,
  { parentThreadId, agent }: { readonly parentThreadId: string; readonly agent?: string },
): Promise<readonly ChildRecord[]> {
  let query = db
    .selectFrom('children')
    .selectAll()
    .where('parent_thread_id', '=', parentThreadId)
    .where('resumable', '=', 1)
    .where('closed_at', 'is', null)
  if (agent !== undefined) query = query.where('agent', '=', agent)
  return (await query.orderBy('created_at').orderBy('reference').execute()).map(codec.fromRow)
}

/** The children that one call started as a group, in order. */
export function childrenOfGroup(
  db: Reader,
  { parentThreadId, spawnGroupId }: { readonly parentThreadId: string; readonly spawnGroupId: string },
): Promise<readonly ChildRecord[]> {
  return childrenBy(db, parentThreadId, { column: 'spawn_group_id', values: [spawnGroupId] })
}

/** The children that these calls started, in order. */
export async function childrenOfCalls(
  db: Reader,
  { parentThreadId, callIds }: { readonly parentThreadId: string; readonly callIds: readonly string[] },
): Promise<readonly ChildRecord[]> {
  return callIds.length === 0 ? [] : childrenBy(db, parentThreadId, { column: 'call_id', values: callIds })
}

async function childrenBy(
  db: Reader,
  parentThreadId: string,
  { column, values }: { readonly column: 'spawn_group_id' | 'call_id'; readonly values: readonly string[] },
): Promise<readonly ChildRecord[]> {
  const rows = await db
    .selectFrom('children')
    .selectAll()
    .where('parent_thread_id', '=', parentThreadId)
    .where(column, 'in', values)
    .orderBy('created_at')
    .orderBy('reference')
    .execute()
  return rows.map(codec.fromRow)
}

/** The name of a child in events and messages: that of the registry, or the agent of a thread that was started by hand. */
export async function findChildName(
  db: Reader,
  { reference }: Pick<ChildKey, 'reference'>,
  child: Pick<ChildRecord, 'name'> | null,
): Promise<string> {
  if (child !== null) return child.name
  const thread = await db.selectFrom('threads').select('agent').where('id', '=', reference).executeTakeFirst()
  return thread?.agent ?? reference
}

export async function countChildren(db: Reader, parentThreadId: string): Promise<number> {
  const { count } = await db
    .selectFrom('children')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('parent_thread_id', '=', parentThreadId)
    .executeTakeFirstOrThrow()
  return count
}

/** Returns false if there is no such child. A new status clears the status text of the child. */
export async function updateChild(
  tx: Writer,
  { parentThreadId, reference }: ChildKey,
  patch: ChildPatch,
): Promise<boolean> {
  const result = await tx
    .updateTable('children')
    .set(codec.toRow(patch.status === undefined ? patch : { status_text: null, ...patch }))
    .where('parent_thread_id', '=', parentThreadId)
    .where('reference', '=', reference)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** A deferred child starts. Before, it has no workflow, and its parent closes it (T8). */
export async function startDeferred(
  tx: Writer,
  {
    parent_thread_id: parent,
    reference,
  }: { readonly parent_thread_id: string | null; readonly reference: string },
): Promise<void> {
  if (parent === null) return
  await tx
    .updateTable('children')
    .set({ status: 'running' })
    .where('parent_thread_id', '=', parent)
    .where('reference', '=', reference)
    .where('status', '=', 'deferred')
    .execute()
}

interface NewReport extends ChildKey {
  /** Counted by the child, from 1. */
  readonly number: number
  /** Null: the report has no text for the parent. Left out: the stored report stays. */
  readonly report?: StoredReport | null
  readonly status: string
  /** For its last report: microseconds. */
  readonly closedAt?: Micros
}

/** T7: stores a report once. Returns false if this one or a later one is stored. */
export async function saveReport(
  tx: Writer,
  { parentThreadId, reference, number, report, status, closedAt }: NewReport,
): Promise<boolean> {
  const result = await tx
    .updateTable('children')
    .set({
      ...{ last_report: number, status, status_text: null },
      ...(report === undefined ? {} : codec.toRow({ report })),
      ...(closedAt === undefined ? {} : { closed_at: closedAt }),
    })
    .where('parent_thread_id', '=', parentThreadId)
    .where('reference', '=', reference)
    .where('last_report', '<', number)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** Closes a child in the registry. Returns null if it was closed before, so that only the first caller reports it. */
export async function closeChild(
  tx: Writer,
  { parentThreadId, reference, status, now }: ChildKey & { readonly status: string; readonly now: Micros },
): Promise<ChildRecord | null> {
  const row = await tx
    .updateTable('children')
    .set({ status, status_text: null, closed_at: now })
    .where('parent_thread_id', '=', parentThreadId)
    .where('reference', '=', reference)
    .where('closed_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
  return row === undefined ? null : codec.fromRow(row)
}

/** Children with rows that wait for variables before they start. */
export async function listDeferredChildren(
  db: Reader,
  parentThreadId: string,
): Promise<readonly ChildRecord[]> {
  const rows = await db
    .selectFrom('children')
    .selectAll()
    .where('parent_thread_id', '=', parentThreadId)
    .where('status', '=', 'deferred')
    .where('closed_at', 'is', null)
    .orderBy('created_at')
    .orderBy('reference')
    .execute()
  return rows.map(codec.fromRow)
}

/**
 * The reports of a child after this number, oldest first, as the child announces them. Empty while a run of it is open: a run
 * is finalized before its parent receives the report (T7).
 */
export async function listMissedReports(
  db: Reader,
  reference: string,
  taken: number,
): Promise<readonly ChildReport[]> {
  const running = await db
    .selectFrom('runs')
    .select('number')
    .where('thread_id', '=', reference)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  if (running !== undefined) return []
  const missed: ChildReport[] = []
  // The parent keeps a bounded number of calls per child, so at most this many reports can answer one.
  for (let report = taken + 1; report <= taken + LIMITS.invocationsPerChild; report += 1) {
    const operation = await findOperation(db, reference, reportOperationId(report))
    if (operation === null) break
    // Written by deliverReport: the store's boundary.
    const answer = operation.answer as DeliverReportAnswer
    const { invocations, closes } = operation.detail as Pick<ChildReport, 'invocations' | 'closes'>
    if (answer.type !== 'delivered') continue
    const { kind, messageId } = answer
    const announced = { reference, report, invocations, kind }
    missed.push({
      ...announced,
      ...(messageId !== null && { messageId }),
      ...(closes === true && { closes }),
    })
  }
  return missed
}

interface Reports {
  readonly threadId: string
  /** The children of the reports. */
  readonly references: readonly string[]
  /** The messages of the reports; other messages of these children stay. */
  readonly ids: readonly string[]
}

/** T3: removes queued reports whose text reached the parent another way. Their rows stay, with that status. */
export async function dropReports(tx: Writer, { threadId, references, ids }: Reports): Promise<void> {
  if (references.length === 0 || ids.length === 0) return
  await tx
    .updateTable('messages')
    .set({ status: 'removed' })
    .where('thread_id', '=', threadId)
    .where('subagent_id', 'in', references)
    .where('position', 'is', null)
    .where('status', '=', 'pending')
    .where('id', 'in', ids)
    .execute()
}
