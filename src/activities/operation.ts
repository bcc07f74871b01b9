/**
 * An operation is work of a thread that happens once, however often Temporal attempts it: a call of a model or of a
 * tool, an effect, a report, the end of a run. Its row is all that the attempts of an activity share.
 *
 * Owns: the life of that row, from `begin` to the commit; the fencing of stale attempts; the answer of an attempt
 * that has lost its operation; which facts were stored with an answer, and how large an answer may be.
 * Does not own: the work between the two transactions, and what else they write.
 *
 *     (no row) --begin--> drained | started --keep--> drained | started --finish--> finished
 *     (no row) --postpone--> waiting --begin--> started
 *     started --suspend--> waiting --begin--> started   what its detail says of the next part stays
 *     (no row) --record--> finished      an operation that is one transaction
 *
 * Invariants, which are T4 in detail:
 * - A finished operation never runs again: every later attempt returns the recorded answer (`lookUp`).
 * - One attempt holds an operation. A stale attempt, which Temporal scheduled before the holder, cannot take it over
 *   (`begin`).
 * - Only the holder commits: `finish` and `keep` roll back the transaction of any other attempt.
 * - An attempt that has lost its operation returns the recorded answer, or fails while the holder is at work
 *   (`commit`).
 * - An operation that was started and has no outcome was interrupted. `onInterrupted` decides whether it runs again
 *   or is reported as interrupted; work that acts outside of the store and is not idempotent is reported.
 */
import { setTimeout as sleep } from 'node:timers/promises'

import type { ActivityInput, PendingAnswer, WaitAnswer } from '../protocol/activities.js'
import type { Fact } from '../protocol/facts.js'
import { failure, hasFailureType } from '../protocol/failures.js'
import { LIMITS } from '../protocol/limits.js'
import type { ThreadOperation } from '../protocol/operations.js'
import { toMicros } from '../protocol/time.js'
import type { Micros } from '../protocol/time.js'
import { isObject } from '../protocol/values.js'
import type { JsonObject } from '../protocol/values.js'
import { digestOf } from '../store/digest.js'
import type { StoredEvent } from '../store/event-rows.js'
import { readEventsAt } from '../store/events.js'
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
import { holdPrecedent, writeWithSuccessor } from './sequence.js'
import { readScheduledTime } from './temporal-activity.js'

export interface OperationKey {
  readonly threadId: string
  readonly id: string
}

/** The row of an operation as an attempt finds it. */
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
  /** Its state when this attempt took it over; for a new operation, the state in which it began. */
  readonly state: OperationHold['state']
  /** The number of attempts that only requested permission to begin: they did nothing else. */
  readonly asked: number
  /** The id of the message that its outcome becomes; null if it becomes none, or the id is not fixed. */
  readonly messageId: string | null
  readonly detail: unknown
  readonly now: Micros
}

type Kind =
  | 'model'
  | 'tool'
  | 'effect'
  | 'activation'
  | 'begin'
  | 'settle'
  | 'expire'
  | 'report'
  | 'compaction'
  | 'catalog'
  | 'workflow'

export interface Beginning {
  readonly kind: Kind
  readonly place: OperationPlace
  /** Decides about an operation that an earlier attempt started and left without an outcome. */
  readonly onInterrupted: 'rerun' | 'report'
  readonly now: Micros
  /** `drained`: its input is taken, and nothing outside of the store has been called yet. @default 'started' */
  readonly state?: 'drained' | 'started'
  readonly messageId?: string | undefined
  readonly detail?: unknown
}

export interface Begun {
  /** `interrupted`: an earlier attempt started it, and `onInterrupted` is `report`. */
  readonly kind: 'held' | 'interrupted'
  readonly held: HeldOperation
}

/** Returns the recorded answer of an operation, or the row of an unfinished one. */
export async function lookUp<Answer>(db: Reader, key: OperationKey): Promise<Found<Answer>> {
  const { threadId, id } = key
  const operation = await findOperation(db, threadId, id)
  if (operation?.state !== 'finished') return { kind: 'unfinished', threadId, id, operation }
  // The same activity calls `finish` and `record` with an answer of this type: the store's boundary.
  return { kind: 'answered', answer: operation.answer as Answer, operation }
}

/**
 * Takes an operation for this attempt, in the transaction of `found`, before any of its work begins.
 * @throws `Operation.Stale` if a later attempt holds it (docs/decisions/0049)
 */
export async function begin(tx: Writer, found: Unfinished, beginning: Beginning): Promise<Begun> {
  const { operation } = found
  await holdPrecedent(tx, found)
  if (operation === null) return { kind: 'held', held: insert(tx, found, beginning) }
  if (operation.state === 'waiting') return { kind: 'held', held: start(tx, operation, beginning) }
  const kind = operation.state === 'started' && beginning.onInterrupted === 'report' ? 'interrupted' : 'held'
  return { kind, held: await takeOver(tx, operation, beginning) }
}

function insert(tx: Writer, { threadId, id }: Unfinished, beginning: Beginning): HeldOperation {
  const { kind, place, now, state = 'started', messageId = null, detail = null } = beginning
  const row = { thread_id: threadId, id, kind, ...place, state, attempt: 1, message_id: messageId, detail }
  pipeline(tx, insertOperation(tx, { ...row, started_at: now, scheduled_at: readScheduledTime() }))
  return { threadId, id, attempt: 1, state, asked: 0, messageId, detail, now }
}

/** The next part of a call that goes on in parts (`sources/continuation.ts`). */
export interface Continuation {
  /** From 2. */
  readonly number: number
  readonly resume: JsonObject
  /** How often it has asked a person. */
  readonly asked: number
  /** The name of the source that goes on with it; null: it waits for a workflow. */
  readonly source: string | null
  /** Whether it may run again after a crash. @default true behind a time, and what the tool says behind an answer */
  readonly repeatable?: boolean
  /** The answer of the activity that has ended the part before. */
  readonly answer: PendingAnswer | WaitAnswer
}

/** The next part of a call whose operation was suspended, also while it runs; null: it has one part. */
export function continuationOf(operation: Pick<OperationRecord, 'detail'> | null): Continuation | null {
  const detail = operation?.detail
  // Written by `suspend`: the store's boundary.
  return isObject(detail) ? ((detail['continuation'] as Continuation | undefined) ?? null) : null
}

/** Starts an operation that waited: for permission, so that none of its work has happened, or for its next part. */
function start(tx: Writer, operation: OperationRecord, { now, messageId }: Beginning): HeldOperation {
  const { thread_id: threadId, id, attempt: asked } = operation
  const attempt = asked + 1
  const state = 'started'
  const continuation = continuationOf(operation)
  const detail = { ...(continuation !== null && { continuation }), asked }
  pipeline(tx, takeOperation(tx, { threadId, id, attempt, state, scheduledAt: readScheduledTime(), detail }))
  return {
    ...{ threadId, id, attempt, state, asked, detail, now },
    messageId: operation.message_id ?? messageId ?? null,
  }
}

/**
 * Temporal may give up a task that takes too long to reach a worker, so that the next attempt is at work before it
 * arrives. Attempts are fenced by the time at which Temporal scheduled them.
 */
async function takeOver(tx: Writer, operation: OperationRecord, { now }: Beginning): Promise<HeldOperation> {
  const held = previousHold(operation, now)
  // Null: code from before schema version 5, which had no fencing, began it.
  if (operation.scheduled_at !== null && operation.scheduled_at > readScheduledTime())
    throw failure('Operation.Stale')
  const { threadId, id, state } = held
  const attempt = held.attempt + 1
  await takeOperation(tx, { threadId, id, attempt, state, scheduledAt: readScheduledTime() })
  return { ...held, attempt }
}

/**
 * The hold of the last attempt, for an outcome that starts no work: a person has denied the call.
 */
export function previousHold(operation: OperationRecord, now: Micros): HeldOperation {
  const { thread_id: threadId, id, attempt, state, message_id: messageId, detail } = operation
  if (state === 'finished') throw new Error(`Expected the operation ${id} to be unfinished.`)
  const asked = typeof detail === 'object' && detail !== null && 'asked' in detail ? Number(detail.asked) : 0
  return { threadId, id, attempt, state, asked, messageId, detail, now }
}

/** Records that the operation waits for a person's permission to begin; none of its work has happened. */
export async function postpone(
  tx: Writer,
  { threadId, id, operation }: Unfinished,
  { kind, place, now, detail = null }: Pick<Beginning, 'kind' | 'place' | 'now' | 'detail'>,
): Promise<void> {
  const state = 'waiting'
  const attempt = (operation?.attempt ?? 0) + 1
  if (operation === null)
    await insertOperation(tx, {
      ...{ thread_id: threadId, id, kind, ...place, state, attempt, detail, started_at: now },
    })
  else await takeOperation(tx, { threadId, id, attempt, state, detail })
}

/** Ends a part of an operation, which waits for its next one. @throws as `finish` */
export async function suspend(
  tx: Writer,
  { threadId, id, attempt }: HeldOperation,
  continuation: Continuation,
): Promise<void> {
  const detail = { continuation }
  if (!(await takeOperation(tx, { threadId, id, attempt, state: 'waiting', detail })))
    throw failure('Operation.Lost')
}

/**
 * Runs the transaction that ends with `finish` or `keep`. Its content must not be lost: while the store is
 * temporarily unavailable, the transaction is retried, even after a user's stop. What follows the operation in this activity may
 * begin in it (`sequence.ts`).
 * @throws `Operation.Lost` if another attempt holds the operation and is still at work
 */
export async function commit<T>(
  store: Store,
  held: OperationKey,
  work: (tx: Writer) => Promise<T>,
): Promise<T> {
  try {
    return await retryWhileUnavailable(() => writeWithSuccessor(store, held, work))
  } catch (error) {
    if (!hasFailureType(error, 'Operation.Lost')) throw error
    const found = await store.read((db) => lookUp<T>(db, held))
    if (found.kind === 'answered') return found.answer
    throw error
  }
}

interface Outcome {
  /** JSON: the answer of the activity. */
  readonly answer: unknown
  /** JSON. @default the detail that the row has */
  readonly detail?: unknown
  /** The child that a call wrote to. @default the key that the row has */
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
 * Updates the row of an unfinished operation, which this attempt continues to hold.
 * @throws as `finish`
 */
export async function keep(
  tx: Writer,
  { threadId, id, attempt }: HeldOperation,
  { state, detail }: { readonly state: 'drained' | 'started'; readonly detail: unknown },
): Promise<void> {
  if (!(await takeOperation(tx, { threadId, id, attempt, state, detail }))) throw failure('Operation.Lost')
}

/** Records an operation that consists of one transaction, with its answer; false if it is already recorded. */
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

/** Finishes an operation on behalf of the attempt that holds it, which can then commit nothing any more. */
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

/** True if this attempt still holds its operation. An attempt that has lost it must not act any more. */
export async function isStillHeld(store: Store, held: HeldOperation): Promise<boolean> {
  return retryWhileUnavailable(() => store.read((db) => isHeld(db, held)))
}

/** Milliseconds. */
const FIRST_PAUSE = 200
const LONGEST_PAUSE = 10_000
const PASSING: ReadonlySet<string> = new Set(['busy', 'unavailable'])

/** While the store is temporarily unavailable, the activity keeps its work and retries; heartbeats go on. */
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

/**
 * The facts of the input that the log does not have: the new ones, and those of activities that ended without an answer and had
 * not stored them. Every activity that stores facts does so at the time of its input.
 */
export async function unstoredFacts(
  db: Reader,
  { threadId, facts, unansweredFacts = [] }: Pick<ActivityInput, 'threadId' | 'facts' | 'unansweredFacts'>,
): Promise<readonly Fact[]> {
  const unstored: Fact[] = []
  for (const sent of unansweredFacts) {
    const stored = await readEventsAt(db, threadId, toMicros(sent.now))
    unstored.push(...withoutKnown(sent.facts, stored.map(digest)))
  }
  return [...unstored, ...facts]
}

/** As `unstoredFacts`, for the second transaction of an operation: without those that the first one stored. */
export async function factsNotStoredYet(
  db: Reader,
  input: Pick<ActivityInput, 'threadId' | 'facts' | 'unansweredFacts'>,
  held: Detailed,
): Promise<readonly Fact[]> {
  return newFacts(await unstoredFacts(db, input), held)
}

/** The part of a row's detail that identifies the facts stored with its answer: a short digest of each. */
interface StoredFacts {
  /** Left out if there are none. */
  readonly facts?: readonly string[]
}

type Detailed = Pick<OperationRecord, 'detail'>

/**
 * Returns those facts of a finished operation that are not stored yet. The workflow, which the answer never reached,
 * has continued and calls again with more facts. Two equal facts count as two.
 */
export function newFacts(given: readonly Fact[], { detail }: Detailed): readonly Fact[] {
  return withoutKnown(given, readDigests(detail))
}

function withoutKnown(given: readonly Fact[], digests: readonly string[]): readonly Fact[] {
  const known = [...digests]
  return given.filter((fact) => {
    const index = known.indexOf(digest(fact))
    if (index !== -1) known.splice(index, 1)
    return index === -1
  })
}

/** The detail for all facts that are stored now: these, and those of the row. */
export function digestFacts(facts: readonly Fact[], { detail }: Detailed = { detail: null }): StoredFacts {
  const stored = [...readDigests(detail), ...facts.map(digest)]
  return stored.length === 0 ? {} : { facts: stored }
}

function readDigests(detail: unknown): readonly string[] {
  // Made by `digestFacts`: the store's boundary.
  return (detail as StoredFacts | null)?.facts ?? []
}

function digest({ type, scope = {}, payload }: Fact | StoredEvent): string {
  // A fact reaches an activity as JSON.
  return digestOf([type, { ...scope }, payload as JsonObject]).slice(0, 8)
}

/** Thrown inside a transaction to roll it back, because the answer is too large for the workflow's history. */
export class TooManyOperations extends Error {
  constructor(operations: readonly ThreadOperation[]) {
    const kinds = [...new Set(operations.map(({ kind }) => kind))].join(', ')
    super(
      `One call did too much to its thread: expected changes of ${LIMITS.operationBytes} bytes at most, got ${operations.length} (${kinds}) of ${bytesOf(operations)} bytes. None of it was applied. Split it into several calls.`,
    )
  }
}

/** @throws `TooManyOperations` before anything is committed that the answer cannot hold (T9) */
export function assertFitting(operations: readonly ThreadOperation[] = []): void {
  if (bytesOf(operations) > LIMITS.operationBytes) throw new TooManyOperations(operations)
}

/** Returns the longest prefix that fits into one answer. */
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
