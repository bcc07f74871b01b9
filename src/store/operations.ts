/**
 * Owns: the rows of operations. An operation is an act of a thread that takes effect once: a model call, a tool call, an
 * effect, a report, the end of a run. Its row records who holds it, how far it has come, and what its activity answered.
 *
 * Does not own: the lifecycle (`activities/operation.ts` decides who begins, reruns or reports), and what an operation
 * commits beside its row.
 *
 * Invariants:
 * - T4: only the attempt that holds an operation finishes it, and a finished operation never changes its answer for a retry.
 * - The columns say what an operation belongs to. An id is made from them and never taken apart.
 */
import type { Selectable } from 'kysely'
import { rowCodec } from './row-codec.js'
import type { Decoded } from './row-codec.js'
import type { Schema } from './schema.js'
import type { Reader, Writer } from './store.js'
import type { Micros } from '../protocol/time.js'

/**
 * `drained`: its input is taken, and nothing outside of the store was called yet. `waiting`: it needs an answer of a person
 * before it begins, so nothing of it has happened. `started`: it may have had effects outside of the store.
 */
export type OperationState = 'drained' | 'waiting' | 'started' | 'finished'

type Columns = { state: OperationState; answer: unknown; detail: unknown }

/** The row of an operation. `answer` is the answer of its activity once it is finished. */
export type OperationRecord = Decoded<Selectable<Schema['operations']>, Columns>

export type NewOperation = Pick<
  OperationRecord,
  'thread_id' | 'id' | 'kind' | 'state' | 'attempt' | 'started_at'
> &
  Partial<OperationRecord>

/** The columns that say what an operation belongs to; those that are left out are null. */
export type OperationPlace = Partial<Pick<OperationRecord, 'run' | 'step' | 'side' | 'number' | 'key'>>

const codec = rowCodec<Selectable<Schema['operations']>, Columns>({ json: ['answer', 'detail'] })

export async function findOperation(
  db: Reader,
  threadId: string,
  id: string,
): Promise<OperationRecord | null> {
  const row = await db
    .selectFrom('operations')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row === undefined ? null : codec.fromRow(row)
}

/** The operation of the highest step among these; null if none of them is there. */
export async function findNewestOperation(
  db: Reader,
  threadId: string,
  ids: readonly string[],
): Promise<OperationRecord | null> {
  const row = await db
    .selectFrom('operations')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('id', 'in', ids)
    .orderBy('step', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : codec.fromRow(row)
}

/** The answers of these operations, which are lists of sources of tools. */
export async function findCatalogs(
  db: Reader,
  { threadId, ids }: { readonly threadId: string; readonly ids: readonly string[] },
): Promise<readonly unknown[]> {
  const rows = await db
    .selectFrom('operations')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('id', 'in', ids)
    .execute()
  return rows.flatMap((row) => codec.fromRow(row).answer ?? [])
}

/** Replaces a list of a source, for the steps that follow. */
export async function replaceCatalog(
  tx: Writer,
  { threadId, id, answer }: { readonly threadId: string; readonly id: string; readonly answer: unknown },
): Promise<void> {
  await tx
    .updateTable('operations')
    .set(codec.toRow({ answer }))
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .where('kind', '=', 'catalog')
    .execute()
}

/** The newest activation that the workflow knows by this id (`activationId`). */
export async function findActivation(
  db: Reader,
  threadId: string,
  key: string,
): Promise<OperationRecord | null> {
  const row = await db
    .selectFrom('operations')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('kind', '=', 'activation')
    .where('key', '=', key)
    .orderBy('started_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : codec.fromRow(row)
}

export interface HighestNumbers {
  readonly runs: number
  readonly settles: number
  readonly reports: number
}

/** The highest numbers among the operations of the thread. Each counter starts at 1; an operation that failed for good has no row. */
export async function highestNumbers(db: Reader, threadId: string): Promise<HighestNumbers> {
  const rows = await db
    .selectFrom('operations')
    .select(['kind', ({ fn }) => fn.max('run').as('run'), ({ fn }) => fn.max('number').as('number')])
    .where('thread_id', '=', threadId)
    .groupBy('kind')
    .execute()
  const numberOf = (kind: string): number => rows.find((row) => row.kind === kind)?.number ?? 0
  return {
    runs: Math.max(0, ...rows.map(({ run }) => run ?? 0)),
    settles: numberOf('settle'),
    reports: numberOf('report'),
  }
}

/** Returns false, and changes nothing, if the operation exists. */
export async function insertOperation(tx: Writer, operation: NewOperation): Promise<boolean> {
  const result = await tx
    .insertInto('operations')
    .values(codec.toRow(operation))
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

export interface OperationHold {
  readonly threadId: string
  readonly id: string
  readonly attempt: number
  readonly state: Exclude<OperationState, 'finished'>
  /** The scheduled time of an attempt that takes the operation over, in microseconds. */
  readonly scheduledAt?: Micros
  /** JSON; left out: unchanged. */
  readonly detail?: unknown
}

/** T4: takes an operation for this attempt. Returns false if it is finished or a later attempt holds it. */
export async function takeOperation(
  tx: Writer,
  { threadId, id, attempt, state, scheduledAt, detail }: OperationHold,
): Promise<boolean> {
  const scheduled = scheduledAt === undefined ? {} : { scheduled_at: scheduledAt }
  const result = await tx
    .updateTable('operations')
    .set(codec.toRow({ attempt, state, detail, ...scheduled }))
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .where('state', '<>', 'finished')
    .where('attempt', '<=', attempt)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** Gives a finished operation to a later attempt, which has read its answer and goes on after it. */
export async function moveSchedule(
  tx: Writer,
  {
    threadId,
    id,
    scheduledAt,
  }: { readonly threadId: string; readonly id: string; readonly scheduledAt: Micros },
): Promise<void> {
  await tx
    .updateTable('operations')
    .set({ scheduled_at: scheduledAt })
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .execute()
}

/** The operations of a run from this step on, in the order in which they began. */
export async function listOperationsFrom(
  db: Reader,
  { threadId, run, step }: { readonly threadId: string; readonly run: number; readonly step: number },
): Promise<readonly OperationRecord[]> {
  const rows = await db
    .selectFrom('operations')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('run', '=', run)
    .where('step', '>=', step)
    .orderBy('step')
    .orderBy('started_at')
    .execute()
  return rows.map((row) => codec.fromRow(row))
}

/** The operations of the calls of a run that a stop has ended, with what their rows keep of a next part. */
export async function listCutContinuations(
  db: Reader,
  { threadId, run }: { readonly threadId: string; readonly run: number },
): Promise<readonly OperationRecord[]> {
  const rows = await db
    .selectFrom('operations')
    .innerJoin('tool_calls', (join) =>
      join
        .onRef('tool_calls.thread_id', '=', 'operations.thread_id')
        .onRef('tool_calls.id', '=', 'operations.id'),
    )
    .selectAll('operations')
    .where('operations.thread_id', '=', threadId)
    .where('operations.run', '=', run)
    .where('operations.kind', '=', 'tool')
    .where('operations.detail', 'is not', null)
    .where('tool_calls.status', 'in', ['interrupted', 'cancelled'])
    .execute()
  return rows.map((row) => codec.fromRow(row))
}

/** Whether this attempt holds the operation and it is started. */
export async function isHeld(
  db: Reader,
  { threadId, id, attempt }: Pick<OperationHold, 'threadId' | 'id' | 'attempt'>,
): Promise<boolean> {
  const row = await db
    .selectFrom('operations')
    .select('id')
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .where('attempt', '=', attempt)
    .where('state', '=', 'started')
    .executeTakeFirst()
  return row !== undefined
}

export interface FinishedOperation {
  readonly threadId: string
  readonly id: string
  readonly attempt: number
  /** JSON. */
  readonly answer: unknown
  /** JSON; left out: unchanged. */
  readonly detail?: unknown
  /** Left out: unchanged. */
  readonly key?: string
  readonly now: Micros
}

/** Updates what is known of a finished operation. */
export async function amendOperation(
  tx: Writer,
  { threadId, id, ...known }: Pick<FinishedOperation, 'threadId' | 'id'> & Amendment,
): Promise<void> {
  await tx
    .updateTable('operations')
    .set(codec.toRow(known))
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .execute()
}

type Amendment = Pick<FinishedOperation, 'answer'> | Required<Pick<FinishedOperation, 'detail'>>

/** T4: finishes an operation. Returns false if another attempt holds it or it is finished: then the caller must roll back. */
export async function finishOperation(tx: Writer, operation: FinishedOperation): Promise<boolean> {
  const patch = {
    state: 'finished' as const,
    answer: operation.answer,
    detail: operation.detail,
    ...(operation.key !== undefined && { key: operation.key }),
    finished_at: operation.now,
  }
  const result = await tx
    .updateTable('operations')
    .set(codec.toRow(patch))
    .where('thread_id', '=', operation.threadId)
    .where('id', '=', operation.id)
    .where('attempt', '=', operation.attempt)
    .where('state', '<>', 'finished')
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}
