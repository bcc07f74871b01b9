import type { Selectable } from 'kysely'
import type { DeliverReportAnswer } from '../../protocol/end-activities.js'
import { reportOperationId } from '../../protocol/ids.js'
import { LIMITS } from '../../protocol/limits.js'
import type { AttachmentRef } from '../../protocol/message.js'
import type { ChildReport } from '../../protocol/messages.js'
import { findOperation } from '../operations.js'
import { rowCodec } from '../row-codec.js'
import type { Decoded } from '../row-codec.js'
import type { ChildrenTable } from '../schema.js'
import type { Reader, Writer } from '../store.js'

/** What a child told its parent; the attachments are files of the parent. */
export interface StoredReport {
  readonly kind: 'result' | 'failure'
  readonly text: string
  readonly attachments: readonly AttachmentRef[]
  /** The message that tells it; left out: it is told with its group. */
  readonly messageId?: string
  /** The parent's calls that it answers. */
  readonly invocations?: readonly string[]
}

type Columns = {
  resumable: boolean
  blocking: boolean
  parent_communication: 'implicit' | 'explicit'
  receives: 'a' | 'b' | null
  report: StoredReport | null
}

/** A child as its parent's registry knows it. */
export type ChildRecord = Decoded<Selectable<ChildrenTable>, Columns>

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

const codec = rowCodec<Selectable<ChildrenTable>, Columns>({
  json: ['report'],
  flags: ['resumable', 'blocking'],
})

/** Which child of which thread; the reference is the child's thread id. */
export interface ChildKey {
  readonly parentThreadId: string
  readonly reference: string
}

/**
 * False if there is one with that reference, which is left as it is. Its moment is moved behind those of its parent's
 * others of its kind: calls of one millisecond must not change places.
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

/** In the order in which they were made: those of one call are a microsecond apart. */
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

/** Children that stay and are not closed, of one agent or of all, in the order in which they were made. */
export async function openInstances(
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

/** Those that one call started in one go, in their order. */
export async function childrenOfGroup(
  db: Reader,
  { parentThreadId, spawnGroupId }: { readonly parentThreadId: string; readonly spawnGroupId: string },
): Promise<readonly ChildRecord[]> {
  const rows = await db
    .selectFrom('children')
    .selectAll()
    .where('parent_thread_id', '=', parentThreadId)
    .where('spawn_group_id', '=', spawnGroupId)
    .orderBy('created_at')
    .orderBy('reference')
    .execute()
  return rows.map(codec.fromRow)
}

/** What events and messages call a child: as the registry has it, or by its agent where a thread was started by hand. */
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

/** False if there is no such child. Another status ends what it said of itself. */
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

/** A child that waited for variables runs. Until then its parent closes it, for it has no workflow (T8). */
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
  /** From 1, counted by the child. */
  readonly number: number
  /** Null: it says nothing to its parent. Left out: what it told before stays. */
  readonly report?: StoredReport | null
  readonly status: string
  /** With its last one: microseconds. */
  readonly closedAt?: number
}

/** T7: a report is stored once; false if this one, or a later one, was stored before. */
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

/** What is known of a child's end. The first who knows it says so: null if the registry had it closed before. */
export async function closeChild(
  tx: Writer,
  { parentThreadId, reference, status, now }: ChildKey & { readonly status: string; readonly now: number },
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

/** Children whose rows are there and that wait for variables before they start. */
export async function deferredChildren(db: Reader, parentThreadId: string): Promise<readonly ChildRecord[]> {
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
 * The reports of a child behind this number, the oldest first, as it announces them. None while a run of it is under way:
 * by the time the parent hears of an end, it is settled (T7).
 */
export async function missedReports(
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
  // What a parent keeps of a child's calls is bounded, and so is what a report of it can answer.
  for (let report = taken + 1; report <= taken + LIMITS.invocationsPerChild; report += 1) {
    const operation = await findOperation(db, reference, reportOperationId(report))
    if (operation === null) break
    // Written by deliverReport: the store's boundary.
    const answer = operation.answer as DeliverReportAnswer
    const { invocations, closes } = operation.detail as Pick<ChildReport, 'invocations' | 'closes'>
    if (answer.type !== 'delivered') continue
    const { kind, messageId } = answer
    const said = { reference, report, invocations, kind }
    missed.push({ ...said, ...(messageId !== null && { messageId }), ...(closes === true && { closes }) })
  }
  return missed
}

interface Reports {
  readonly threadId: string
  /** The children whose reports they are. */
  readonly references: readonly string[]
  /** Their messages; what these children told besides stays. */
  readonly ids: readonly string[]
}

/** T3: reports that wait for a place, and whose words came another way: their rows stay and say so. */
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
