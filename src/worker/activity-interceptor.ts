import { randomUUID } from 'node:crypto'
import { ApplicationFailure, CancelledFailure } from '@temporalio/common'
import type { Context } from '@temporalio/activity'
import type {
  ActivityInboundCallsInterceptor,
  ActivityInterceptors,
  ActivityInterceptorsFactory,
} from '@temporalio/worker'
import { errorFields, readThrown } from '../activities/thrown.js'
import type { Thrown } from '../activities/thrown.js'
import { LEVEL } from '../protocol/activities.js'
import { FAILURES, failure } from '../protocol/failures.js'
import type { FailureType } from '../protocol/failures.js'
import { LIMITS } from '../protocol/limits.js'
import { recordError } from '../store/errors.js'
import { StoreError } from '../store/store-error.js'
import type { Store } from '../store/store.js'
import { threadLogAttributes } from './log-attributes.js'

/** A worker; its store is asked for when an activity comes, for it may open late. */
interface StoreOwner {
  readonly store: Store
}

/**
 * The one guard of our activities: whatever they throw, except cancellation, leaves as a failure from the table, without
 * text, stack or cause; the real error is in the store under the failure's error id (T5). Answers above 64 KB are
 * refused before they are sent, for one of 5 MB is never reported and hangs.
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
      try {
        assertLevel(input.args[0])
        const answer = await next(input)
        if (bytesOf(answer) > LIMITS.activityResultBytes) throw failure('Answer.TooLarge')
        return answer
      } catch (error) {
        throw await disguised(store, context, error)
      }
    },
  }
}

function bytesOf(answer: unknown): number {
  return Buffer.byteLength(JSON.stringify(answer) ?? '')
}

/** An old worker must not run a step whose policy it cannot see. */
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
  return { id, threadId, at: Date.now() * 1000, type, ...thrown }
}
