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
import { currentInput } from '../activities/temporal-activity.js'
import { errorFields, readThrown } from '../activities/thrown.js'
import type { Thrown } from '../activities/thrown.js'
import { LEVEL } from '../protocol/answer-problem.js'
import { fact } from '../protocol/facts.js'
import type { RuntimeFailure } from '../protocol/payloads/lifecycle.js'
import { FAILURES, failure, otherStoreFailure } from '../protocol/failures.js'
import type { FailureType } from '../protocol/failures.js'
import { isStoreId, modelOperationId, reportOperationId, settleOperationId } from '../protocol/ids.js'
import { LIMITS } from '../protocol/limits.js'
import { isObject } from '../protocol/values.js'
import { recordError } from '../store/errors.js'
import { appendEvents } from '../store/events.js'
import { StoreError } from '../store/store-error.js'
import type { Store, Writer } from '../store/store.js'
import { threadProgress } from '../store/threads/threads.js'
import { nowMicros } from '../protocol/time.js'
import { ownTaskQueue } from '../store/store-location.js'

/** A worker. Its store is read when an activity arrives, because the plugin opens it only when the worker runs. */
interface StoreOwner {
  readonly store: Store
}

/**
 * The one guard of our activities. Any error except a cancellation leaves as a failure from the table, without text, stack
 * or cause; the real error is in the store under the failure's error id (T5). Answers above 64 KB are refused before they are
 * sent, because an answer of 5 MB is never reported and hangs. Work on threads of another store is refused before anything is
 * read or written: their rows are missing here, and the activity would treat them as deleted.
 */
export function activityInterceptor(worker: StoreOwner): ActivityInterceptorsFactory {
  return (context) =>
    context.info.activityType.startsWith('thread.') ? createGuard(worker.store, context) : {}
}

function createGuard(store: Store, context: Context): ActivityInterceptors {
  let input: unknown
  const onInput = (given: unknown): void => void (input = given)
  return {
    inbound: guardActivity(store, context, onInput),
    outbound: { getLogAttributes: threadLogAttributes(() => currentInput(context) ?? input) },
  }
}

function guardActivity(
  store: Store,
  context: Context,
  onInput: (input: unknown) => void,
): ActivityInboundCallsInterceptor {
  return {
    async execute(input, next) {
      onInput(input.args[0])
      const named = readStoreId(input.args[0])
      if (named !== null && named !== store.id) throw refuseOtherStore(store, context, named)
      try {
        assertLevel(input.args[0])
        const answer = withStore(await next(input), named === null ? store.id : null)
        if (bytesOf(answer) > LIMITS.activityResultBytes) throw failure('Answer.TooLarge')
        return answer
      } catch (error) {
        throw await hideError(store, context, { error, input: input.args[0] })
      }
    },
  }
}

/** The id of the thread's store. Null if the start named none and no activity has answered yet. */
function readStoreId(input: unknown): string | null {
  return isObject(input) && isStoreId(input['store']) ? input['store'] : null
}

function refuseOtherStore(store: Store, { info, log }: Context, threads: string): Error {
  warnOfOtherStore(log, { worker: store.id, threads, taskQueue: info.taskQueue })
  return otherStoreFailure(info.attempt)
}

/**
 * Adds the id of this worker's store to the answer, if the workflow has none yet: the first store that answers is the
 * thread's own.
 */
function withStore(answer: unknown, store: string | null): unknown {
  return store !== null && isObject(answer) ? { ...answer, store } : answer
}

function bytesOf(answer: unknown): number {
  return Buffer.byteLength(JSON.stringify(answer) ?? '')
}

/** An old worker must not run a step by rules that it does not have. */
function assertLevel(input: unknown): void {
  const level = typeof input === 'object' && input !== null && 'level' in input ? input.level : undefined
  if (typeof level !== 'number' || level > LEVEL) throw failure('Thread.UnknownLevel')
}

/** Records the error, and returns a failure that may be in a history in its place (T5). */
async function hideError(
  store: Store,
  context: Context,
  { error, input }: { readonly error: unknown; readonly input: unknown },
): Promise<unknown> {
  if (error instanceof CancelledFailure) return plainCancellation()
  // Built anew: user code may throw a failure with a type of ours and its own text, stack and cause.
  const known = readFailureType(error)
  if (known !== null) return failure(known)
  const type: FailureType = StoreError.isInstance(error) ? 'Store.Unavailable' : 'Activity.Failed'
  const id = randomUUID()
  // Not the workflow's id: the parent of a tool's workflow works for a thread, too.
  const given = isObject(input) ? input['threadId'] : undefined
  const threadId = typeof given === 'string' ? given : (context.info.workflowExecution?.workflowId ?? null)
  const thrown = readThrown(error)
  const { activityType: activity } = context.info
  context.log.error('An activity failed.', { errorId: id, type, activity, ...errorFields(thrown) })
  const row = errorRow({ id, threadId, error }, thrown)
  await store
    .write((tx) => recordFailure(tx, row, { code: type, activity, errorId: id }))
    .catch(() => undefined)
  return failure(type, id)
}

/** With its event, unless the thread has no row or is closed. */
async function recordFailure(
  tx: Writer,
  row: Parameters<typeof recordError>[1],
  failed: RuntimeFailure,
): Promise<void> {
  await recordError(tx, row)
  const { threadId, at: now } = row
  if (threadId === null || (await threadProgress(tx, threadId))?.closed !== false) return
  const events = [fact('runtime.error', failed)]
  await appendEvents(tx, { threadId, events, now, movesActivity: false })
}

function plainCancellation(): CancelledFailure {
  const made = new CancelledFailure('The activity was cancelled.')
  made.stack = ''
  return made
}

function readFailureType(error: unknown): FailureType | null {
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
 * Adds thread, run, step and call to each line that is logged in an activity of ours, also by a tool. `input` comes from
 * Temporal unchecked; the line is logged for any input.
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

/** The id of the activity's row in `operations`. */
function operationOf({ run, step, frame, idleCalls, callId, settle, report, effectId }: Input): unknown {
  if (callId !== undefined) return callId
  if (typeof settle === 'number') return settleOperationId(settle)
  if (typeof report === 'number') return reportOperationId(report)
  if (effectId !== undefined) return effectId
  if (typeof run !== 'number' || typeof step !== 'number') return undefined
  return modelOperationId({
    run,
    step,
    ...(isObject(frame) && { frame: { callId: String(frame['callId']) } }),
    ...(typeof idleCalls === 'number' && { idleCalls }),
  })
}

type Input = Readonly<Record<string, unknown>>

/** Pairs of a worker's store and another store that are already logged. */
const mixed = new Set<string>()

/** After these, further warnings about other stores on one queue add nothing new. */
const MOST_MIXED = 10

interface OtherStore {
  /** The store of this worker. */
  readonly worker: string
  /** The store of the threads. */
  readonly threads: string
  readonly taskQueue: string
}

/** Logs once a process that its task queue has threads of another store, whose work this worker refuses. */
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
