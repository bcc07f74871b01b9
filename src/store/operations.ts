import type { Selectable } from 'kysely'
import { rowCodec } from './row-codec.js'
import type { Decoded } from './row-codec.js'
import type { OperationsTable } from './schema.js'
import type { Reader, Writer } from './store.js'

/** `waiting`: somebody was asked before it began, so nothing of it has happened yet. */
export type OperationState = 'drained' | 'waiting' | 'started' | 'finished'

type Columns = { state: OperationState; answer: unknown; detail: unknown }

/** A model call, tool call or other act that is done once. `answer` is what its activity answered, once finished. */
export type OperationRecord = Decoded<Selectable<OperationsTable>, Columns>

export type NewOperation = Pick<
  OperationRecord,
  'thread_id' | 'id' | 'kind' | 'state' | 'attempt' | 'started_at'
> &
  Partial<OperationRecord>

/** The columns that say what an operation belongs to; those that are left out are null. */
export type OperationPlace = Partial<Pick<OperationRecord, 'run' | 'step' | 'side' | 'number' | 'key'>>

const codec = rowCodec<Selectable<OperationsTable>, Columns>({ json: ['answer', 'detail'] })

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

/** The highest numbers that operations of the thread have; each counts from 1, and what failed for good has left no row. */
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

/** False if there is one already, which is left as it is. */
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
  /** Microseconds: of an attempt that did not hold it before. */
  readonly scheduledAt?: number
  /** JSON; what was there stays when it is left out. */
  readonly detail?: unknown
}

/** T4: holds an operation for this attempt; false if it is finished, or a later attempt holds it. */
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

/** Whether an operation is started and this attempt's: it may do more. */
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
  /** JSON; what was there stays when it is left out. */
  readonly detail?: unknown
  /** What was there stays when it is left out. */
  readonly key?: string
  readonly now: number
}

/** What else is known by now of an operation that is finished: what is left out stays. */
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

/** T4: false if another attempt holds it or it is finished; then nothing that goes with it may be committed. */
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
