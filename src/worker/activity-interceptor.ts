import { randomUUID } from 'node:crypto'
import type { Context } from '@temporalio/activity'
import { ApplicationFailure, CancelledFailure } from '@temporalio/common'
import type {
  ActivityInboundCallsInterceptor,
  ActivityInterceptors,
  ActivityInterceptorsFactory,
  ActivityOutboundCallsInterceptor,
  Logger,
} from '@temporalio/worker'
import { errorFields, readThrown } from '../activities/thrown.js'
import type { Thrown } from '../activities/thrown.js'
import { LEVEL } from '../protocol/answer-problem.js'
import { FAILURES, failure, otherStoreFailure } from '../protocol/failures.js'
import type { FailureType } from '../protocol/failures.js'
import { isStoreId, modelOperationId, reportOperationId, settleOperationId } from '../protocol/ids.js'
import { LIMITS } from '../protocol/limits.js'
import { isObject } from '../protocol/values.js'
import { recordError } from '../store/errors.js'
import { StoreError } from '../store/store-error.js'
import type { Store } from '../store/store.js'
import { nowMicros } from '../protocol/time.js'
import { ownTaskQueue } from '../store/store-location.js'

/** A worker, whose store is read when an activity arrives, because it may open late. */
interface StoreOwner {
  readonly store: Store
}

/**
 * The one guard of our activities: whatever they throw, except cancellation, leaves as a failure from the table, without
 * text, stack or cause; the real error is in the store under the failure's error id (T5). Answers above 64 KB are
 * refused before they are sent, for one of 5 MB is never reported and hangs. What belongs to another store is refused before
 * anything is read or written: whatever the activity looked for would be missing here, and would be taken for deleted.
 */
export function activityInterceptor(worker: StoreOwner): ActivityInterceptorsFactory {
  return (context) => (context.info.activityType.startsWith('thread.') ? guarded(worker.store, context) : {})
}

function guarded(store: Store, context: Context): ActivityInterceptors {
  let input: unknown
  const taken = (given: unknown): void => void (input = given)
  return {
    inbound: guard(store, context, taken),
    outbound: { getLogAttributes: threadLogAttributes(() => input) },
  }
}

function guard(
  store: Store,
  context: Context,
  taken: (input: unknown) => void,
): ActivityInboundCallsInterceptor {
  return {
    async execute(input, next) {
      taken(input.args[0])
      const named = storeNamedBy(input.args[0])
      if (named !== null && named !== store.id) throw refusal(store, context, named)
      try {
        assertLevel(input.args[0])
        const answer = withStore(await next(input), named === null ? store.id : null)
        if (bytesOf(answer) > LIMITS.activityResultBytes) throw failure('Answer.TooLarge')
        return answer
      } catch (error) {
        throw await disguised(store, context, error)
      }
    },
  }
}

/** Null if the start named no store and no activity has answered yet. */
function storeNamedBy(input: unknown): string | null {
  return isObject(input) && isStoreId(input['store']) ? input['store'] : null
}

function refusal(store: Store, { info, log }: Context, threads: string): Error {
  warnOfOtherStore(log, { worker: store.id, threads, taskQueue: info.taskQueue })
  return otherStoreFailure(info.attempt)
}

/**
 * Adds the id of this worker's store to the answer for a workflow that does not know its store yet: this store is the
 * thread's.
 */
function withStore(answer: unknown, store: string | null): unknown {
  return store !== null && isObject(answer) ? { ...answer, store } : answer
}

function bytesOf(answer: unknown): number {
  return Buffer.byteLength(JSON.stringify(answer) ?? '')
}

/** An old worker must not run a step whose rules it does not know. */
function assertLevel(input: unknown): void {
  const level = typeof input === 'object' && input !== null && 'level' in input ? input.level : undefined
  if (typeof level !== 'number' || level > LEVEL) throw failure('Thread.UnknownLevel')
}

async function disguised(store: Store, context: Context, error: unknown): Promise<unknown> {
  if (error instanceof CancelledFailure) return cancelled()
  // Made anew: one of the user's may bear a type of ours, with words, stack and cause.
  const known = knownType(error)
  if (known !== null) return failure(known)
  const type: FailureType = StoreError.isInstance(error) ? 'Store.Unavailable' : 'Activity.Failed'
  const id = randomUUID()
  const threadId = context.info.workflowExecution?.workflowId ?? null
  const thrown = readThrown(error)
  const { activityType: activity } = context.info
  context.log.error('An activity failed.', { errorId: id, type, activity, ...errorFields(thrown) })
  await store.write((tx) => recordError(tx, errorRow({ id, threadId, error }, thrown))).catch(() => undefined)
  return failure(type, id)
}

function cancelled(): CancelledFailure {
  const made = new CancelledFailure('The activity was cancelled.')
  made.stack = ''
  return made
}

function knownType(error: unknown): FailureType | null {
  if (!(error instanceof ApplicationFailure) || typeof error.type !== 'string') return null
  return Object.hasOwn(FAILURES, error.type) ? (error.type as FailureType) : null
}

interface Failed {
  readonly id: string
  readonly threadId: string | null
  readonly error: unknown
}

function errorRow({ id, threadId, error }: Failed, thrown: Thrown): Parameters<typeof recordError>[1] {
  const type = error instanceof Error ? String(error.name) : 'Error'
  return { id, threadId, at: nowMicros(), type, ...thrown }
}

/**
 * Adds to each line that an activity of ours logs, ours and a tool's alike, which thread, run, step and call it is about.
 * `input`: what came from Temporal; whatever it is, a line is logged.
 */
function threadLogAttributes(
  input: () => unknown,
): NonNullable<ActivityOutboundCallsInterceptor['getLogAttributes']> {
  return (attributes, next) => next({ ...attributes, ...attributesOf(input()) })
}

function attributesOf(input: unknown): Record<string, unknown> {
  if (!isObject(input)) return {}
  const { threadId, run, step, side, agent, frame, callId } = input
  const call = callId ?? (isObject(frame) ? frame['callId'] : undefined)
  const operation = operationOf(input)
  const fields = { threadId, run, step, side, agent, call, operation }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** The id of the row in `operations`. */
function operationOf({ run, step, frame, callId, settle, report, effectId }: Input): unknown {
  if (callId !== undefined) return callId
  if (typeof settle === 'number') return settleOperationId(settle)
  if (typeof report === 'number') return reportOperationId(report)
  if (effectId !== undefined) return effectId
  if (typeof run !== 'number' || typeof step !== 'number') return undefined
  return modelOperationId(run, step, isObject(frame) ? String(frame['callId']) : null)
}

type Input = Readonly<Record<string, unknown>>

/** Pairs of a worker's store and another store that the log names already. */
const mixed = new Set<string>()

/** Warnings about more stores on one queue add nothing new. */
const MOST_MIXED = 10

interface OtherStore {
  /** The store of this worker. */
  readonly worker: string
  /** The store of the threads. */
  readonly threads: string
  readonly taskQueue: string
}

/** Logs once in a process that its task queue has threads of another store, which this worker leaves alone. */
function warnOfOtherStore(log: Pick<Logger, 'warn'>, { worker, threads, taskQueue }: OtherStore): void {
  const pair = `${worker} ${threads}`
  if (mixed.has(pair) || mixed.size >= MOST_MIXED) return
  mixed.add(pair)
  log.warn(
    `The task queue "${taskQueue}" has threads of the store ${threads}, and the store of this worker is ${worker}: this worker ` +
      'refuses their work, and they wait for a worker of their store. If both are one project, give all its workers and ' +
      'clients the same EVERTHREAD_DATABASE_URL; if not, give each project a task queue of its own (without a taskQueue ' +
      `and without EVERTHREAD_TASK_QUEUE this worker polls "${ownTaskQueue(worker)}").`,
  )
}
