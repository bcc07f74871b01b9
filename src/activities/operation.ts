/**
 * An operation is an act of a thread that happens once, however often Temporal attempts it: a call of a model or of a
 * tool, an effect, a report, the end of a run. Its row is all that the attempts of an activity share.
 *
 * Owns: the life of that row, from `begin` to the commit; the fence against stale attempts; what a lost attempt answers;
 * which facts were stored with an answer, and how large an answer may be.
 * Does not own: what is done between the two transactions, and what else they write.
 *
 *     (no row) --begin--> drained | started --keep--> drained | started --finish--> finished
 *     (no row) --postpone--> waiting --begin--> started
 *     (no row) --record--> finished      an operation that is one transaction
 *
 * Invariants, which are T4 in detail:
 * - A finished operation is never done again: every later attempt answers with the recorded answer (`lookUp`).
 * - One attempt holds an operation. A stale attempt, which Temporal scheduled before the holder, takes nothing (`begin`).
 * - Only the holder commits: `finish` and `keep` roll back the transaction of any other attempt.
 * - An attempt that lost its operation answers with the recorded answer, or fails while the holder is at work (`commit`).
 * - An operation that was started and has no outcome was interrupted: it is done again, or reported as such, as `begin`
 *   is told by `onInterrupted`. Whatever acts outside of the store and is not idempotent is reported.
 */
import { setTimeout as sleep } from 'node:timers/promises'

import type { Fact } from '../protocol/facts.js'
import { failure, hasFailureType } from '../protocol/failures.js'
import { LIMITS } from '../protocol/limits.js'
import type { ThreadOperation } from '../protocol/operations.js'
import { toMicros } from '../protocol/time.js'
import type { Micros } from '../protocol/time.js'
import type { JsonObject } from '../protocol/values.js'
import { digestOf } from '../store/digest.js'
import {
  findOperation,
  finishOperation,
  insertOperation,
  isHeld,
  takeOperation,
} from '../store/operations.js'
import type { OperationHold, OperationPlace, OperationRecord } from '../store/operations.js'
import type { Reader, Store, Writer } from '../store/store.js'
import { StoreError } from '../store/store-error.js'
import { pipeline } from '../store/transaction.js'
import { assertStoppedByUser } from './activity.js'
import { Context } from './temporal-activity.js'

export interface OperationKey {
  readonly threadId: string
  readonly id: string
}

/** What the store knows of an operation before an attempt does anything for it. */
export type Found<Answer> = Answered<Answer> | Unfinished

export interface Answered<Answer> {
  readonly kind: 'answered'
  readonly answer: Answer
  readonly operation: OperationRecord
}

export interface Unfinished extends OperationKey {
  readonly kind: 'unfinished'
  /** Null: no attempt has begun it. */
  readonly operation: OperationRecord | null
}

/** An operation that this attempt holds. */
export interface HeldOperation extends OperationKey {
  /** The number under which this attempt holds it. */
  readonly attempt: number
  /** How far it had come when this attempt took it; of a new one, the state that it began in. */
  readonly state: OperationHold['state']
  /** Attempts that only asked whether it may begin: nothing was done in them. */
  readonly asked: number
  /** The row that its outcome will be; null where it has none, or any. */
  readonly messageId: string | null
  readonly detail: unknown
  readonly now: Micros
}

type Kind = 'model' | 'tool' | 'effect' | 'activation' | 'begin' | 'settle' | 'expire' | 'report'

export interface Beginning {
  readonly kind: Kind
  readonly place: OperationPlace
  /** What to do with an operation that an earlier attempt started and left without an outcome. */
  readonly onInterrupted: 'rerun' | 'report'
  readonly now: Micros
  /** `drained`: its input is taken, and nothing outside of the store was asked yet. @default 'started' */
  readonly state?: 'drained' | 'started'
  readonly messageId?: string | undefined
  readonly detail?: unknown
}

export interface Begun {
  /** `interrupted`: an earlier attempt started it, and `onInterrupted` is `report`. */
  readonly kind: 'held' | 'interrupted'
  readonly held: HeldOperation
}

/** The recorded answer of an operation, or what is known of one that is not finished. */
export async function lookUp<Answer>(db: Reader, key: OperationKey): Promise<Found<Answer>> {
  const { threadId, id } = key
  const operation = await findOperation(db, threadId, id)
  if (operation?.state !== 'finished') return { kind: 'unfinished', threadId, id, operation }
  // `finish` and `record` are called by the same activity, which has typed the answer: the store's boundary.
  return { kind: 'answered', answer: operation.answer as Answer, operation }
}

/**
 * Takes an operation for this attempt, in the transaction of `found`, before anything of it is done.
 * @throws `Operation.Late` if a later attempt holds it (docs/decisions/0049)
 */
export async function begin(tx: Writer, found: Unfinished, beginning: Beginning): Promise<Begun> {
  const { operation } = found
  if (operation === null) return { kind: 'held', held: insert(tx, found, beginning) }
  if (operation.state === 'waiting') return { kind: 'held', held: start(tx, operation, beginning) }
  const kind = operation.state === 'started' && beginning.onInterrupted === 'report' ? 'interrupted' : 'held'
  return { kind, held: await takeOver(tx, operation, beginning) }
}

function insert(tx: Writer, { threadId, id }: Unfinished, beginning: Beginning): HeldOperation {
  const { kind, place, now, state = 'started', messageId = null, detail = null } = beginning
  const row = { thread_id: threadId, id, kind, ...place, state, attempt: 1, message_id: messageId, detail }
  pipeline(tx, insertOperation(tx, { ...row, started_at: now, scheduled_at: scheduledAt() }))
  return { threadId, id, attempt: 1, state, asked: 0, messageId, detail, now }
}

/** Starts an operation that waited for a permission: nothing of it has happened so far. */
function start(tx: Writer, operation: OperationRecord, { now, messageId }: Beginning): HeldOperation {
  const { thread_id: threadId, id, attempt: asked } = operation
  const attempt = asked + 1
  const state = 'started'
  const detail = { asked }
  pipeline(tx, takeOperation(tx, { threadId, id, attempt, state, scheduledAt: scheduledAt(), detail }))
  return {
    ...{ threadId, id, attempt, state, asked, detail, now },
    messageId: operation.message_id ?? messageId ?? null,
  }
}

/**
 * A task may be so long on its way to a worker that Temporal gives it up, and the next attempt is at work before it
 * arrives. Attempts are fenced by the time at which Temporal scheduled them.
 */
async function takeOver(tx: Writer, operation: OperationRecord, { now }: Beginning): Promise<HeldOperation> {
  const held = previousHold(operation, now)
  // Null: code of before schema version 5 began it, which had no fence.
  if (operation.scheduled_at !== null && operation.scheduled_at > scheduledAt())
    throw failure('Operation.Late')
  const { threadId, id, state } = held
  const attempt = held.attempt + 1
  await takeOperation(tx, { threadId, id, attempt, state, scheduledAt: scheduledAt() })
  return { ...held, attempt }
}

/**
 * The time at which Temporal scheduled this attempt, in microseconds of Temporal's clock. The row of an operation
 * names its holder by it.
 */
function scheduledAt(): number {
  return toMicros(Context.current().info.currentAttemptScheduledTimestampMs)
}

/**
 * The hold of the attempt that had the operation last, for an outcome that begins nothing: a person has not allowed
 * the call.
 */
export function previousHold(operation: OperationRecord, now: Micros): HeldOperation {
  const { thread_id: threadId, id, attempt, state, message_id: messageId, detail } = operation
  if (state === 'finished') throw new Error(`Expected the operation ${id} to be unfinished.`)
  const asked = typeof detail === 'object' && detail !== null && 'asked' in detail ? Number(detail.asked) : 0
  return { threadId, id, attempt, state, asked, messageId, detail, now }
}

/** Notes that a person was asked whether the operation may begin; nothing of it has happened. */
export async function postpone(
  tx: Writer,
  { threadId, id, operation }: Unfinished,
  { kind, place, now }: Pick<Beginning, 'kind' | 'place' | 'now'>,
): Promise<void> {
  const state = 'waiting'
  const attempt = (operation?.attempt ?? 0) + 1
  if (operation === null)
    await insertOperation(tx, { thread_id: threadId, id, kind, ...place, state, attempt, started_at: now })
  else await takeOperation(tx, { threadId, id, attempt, state })
}

/**
 * Runs the transaction that ends with `finish` or `keep`. Its content must not be lost: while the store fails in
 * passing, the transaction is tried again, also through a user's stop.
 * @throws `Operation.Lost` if another attempt holds the operation and is still at work
 */
export async function commit<T>(
  store: Store,
  held: OperationKey,
  work: (tx: Writer) => Promise<T>,
): Promise<T> {
  try {
    return await retryWhileUnavailable(() => store.write(work))
  } catch (error) {
    if (!hasFailureType(error, 'Operation.Lost')) throw error
    const found = await store.read((db) => lookUp<T>(db, held))
    if (found.kind === 'answered') return found.answer
    throw error
  }
}

interface Outcome {
  /** JSON: what the activity answers. */
  readonly answer: unknown
  /** JSON; what was there stays when it is left out. */
  readonly detail?: unknown
  /** The child that a call wrote to; left out: unchanged. */
  readonly key?: string
}

/** @throws `Operation.Lost`, which rolls the transaction back, if another attempt holds it or has finished it */
export async function finish(
  tx: Writer,
  { threadId, id, attempt, now }: HeldOperation,
  { answer, ...known }: Outcome,
): Promise<void> {
  if (!(await finishOperation(tx, { threadId, id, attempt, answer, ...known, now })))
    throw failure('Operation.Lost')
}

/**
 * Updates the row of an operation that is not finished, which this attempt goes on holding.
 * @throws as `finish`
 */
export async function keep(
  tx: Writer,
  { threadId, id, attempt }: HeldOperation,
  { state, detail }: { readonly state: 'drained' | 'started'; readonly detail: unknown },
): Promise<void> {
  if (!(await takeOperation(tx, { threadId, id, attempt, state, detail }))) throw failure('Operation.Lost')
}

/** Records an operation that is one transaction, with its answer; false if it was recorded before. */
export function record(
  tx: Writer,
  { threadId, id }: OperationKey,
  { kind, place, now, answer, detail = null }: Outcome & Pick<Beginning, 'kind' | 'place' | 'now'>,
): Promise<boolean> {
  const row = {
    thread_id: threadId,
    id,
    kind,
    ...place,
    state: 'finished',
    attempt: 1,
    answer,
    detail,
  } as const
  return insertOperation(tx, { ...row, started_at: now, finished_at: now })
}

/** Finishes an operation for whichever attempt holds it, which then commits nothing any more. */
export async function finishForHolder(
  tx: Writer,
  key: OperationKey,
  { answer, now }: { readonly answer: unknown; readonly now: Micros },
): Promise<void> {
  const operation = await findOperation(tx, key.threadId, key.id)
  if (operation === null) return
  const { attempt } = operation
  await finishOperation(tx, { threadId: key.threadId, id: key.id, attempt, answer, now })
}

/** Whether this attempt still holds its operation. An attempt that has lost it must not act any more. */
export async function isStillHeld(store: Store, held: HeldOperation): Promise<boolean> {
  return retryWhileUnavailable(() => store.read((db) => isHeld(db, held)))
}

const FIRST_PAUSE = 200
const LONGEST_PAUSE = 10_000
const PASSING: ReadonlySet<string> = new Set(['busy', 'unavailable'])

/** While the store fails in passing, the activity keeps what it has and tries again, heartbeating. */
async function retryWhileUnavailable<T>(work: () => Promise<T>): Promise<T> {
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    try {
      return await work()
    } catch (error) {
      if (!StoreError.isInstance(error) || !PASSING.has(error.code)) throw error
      // A worker that shuts down or has lost the task gives up: another attempt follows.
      assertStoppedByUser()
      await sleep(pause)
    }
  }
}

/** What the detail of a row keeps of the facts that were stored with its answer: of each a short digest. */
interface StoredFacts {
  /** Left out when there were none. */
  readonly facts?: readonly string[]
}

type Detailed = Pick<OperationRecord, 'detail'>

/**
 * Of the facts that come with an operation that is finished, those that are not stored: the answer never reached the
 * workflow, which goes on and asks again. Two equal facts are two.
 */
export function newFacts(given: readonly Fact[], { detail }: Detailed): readonly Fact[] {
  const known = [...storedDigests(detail)]
  return given.filter((fact) => {
    const index = known.indexOf(digest(fact))
    if (index !== -1) known.splice(index, 1)
    return index === -1
  })
}

/** The facts that are stored by now: these, and those of the row. */
export function storedFacts(facts: readonly Fact[], { detail }: Detailed = { detail: null }): StoredFacts {
  const stored = [...storedDigests(detail), ...facts.map(digest)]
  return stored.length === 0 ? {} : { facts: stored }
}

function storedDigests(detail: unknown): readonly string[] {
  // Made by `storedFacts`: the store's boundary.
  return (detail as StoredFacts | null)?.facts ?? []
}

function digest({ type, scope = {}, payload }: Fact): string {
  // A fact reaches an activity as JSON.
  return digestOf([type, { ...scope }, payload as JsonObject]).slice(0, 8)
}

/** Thrown inside a transaction to roll it back: the answer is too large for the workflow's history. */
export class TooManyOperations extends Error {
  constructor(operations: readonly ThreadOperation[]) {
    const kinds = [...new Set(operations.map(({ kind }) => kind))].join(', ')
    super(
      `One call did too much to its thread: expected changes of ${LIMITS.operationBytes} bytes at most, got ${operations.length} (${kinds}) of ${bytesOf(operations)} bytes. Nothing of it was done. Do it in several calls.`,
    )
  }
}

/** @throws `TooManyOperations`, before anything is committed that the answer cannot hold (T9) */
export function assertFitting(operations: readonly ThreadOperation[] = []): void {
  if (bytesOf(operations) > LIMITS.operationBytes) throw new TooManyOperations(operations)
}

/** Those from the first one on that fit into one answer. */
export function fittingOperations(operations: readonly ThreadOperation[]): readonly ThreadOperation[] {
  let bytes = 2
  const over = operations.findIndex((operation) => {
    bytes += bytesOf(operation) + 1
    return bytes > LIMITS.operationBytes
  })
  return over === -1 ? operations : operations.slice(0, over)
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
