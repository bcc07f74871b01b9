import { RetryState } from '@temporalio/common'
import {
  ActivityCancellationType,
  ActivityFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  proxyActivities,
} from '@temporalio/workflow'
import type { ActivityOptions } from '@temporalio/workflow'

import type { ActivityInput } from '../protocol/activities.js'
import { ACTIVITIES, answerProblem, leanInput } from '../protocol/answer-problem.js'
import type { ThreadActivities } from '../protocol/answer-problem.js'
import type { FailureCause, StoreStopInput } from '../protocol/end-activities.js'
import { hasFailureType } from '../protocol/failures.js'
import type { StoreAnswer } from '../protocol/ids.js'
import { LIMITS } from '../protocol/limits.js'
import { acknowledge, listOperations, markUnacknowledged, recordRefusedAnswer } from '../thread/apply.js'
import type { ThreadControl } from '../thread/control.js'
import { factsToSend, keepUnansweredFacts } from '../thread/facts.js'
import { isResumed } from '../thread/run.js'
import type { ThreadHost } from './thread-host.js'

const HEARTBEAT_TIMEOUT = 30_000

/** Start-to-close is an activity's own limit plus this: the inner limit always ends first. */
const START_TO_CLOSE_SLACK = 900_000

/**
 * The retry interval grows slowly. After the death of a worker, even for the fifth time in one call, a retry is to come
 * quickly: each costs the heartbeat timeout already. If attempts fail by themselves, the interval reaches 30 s within three
 * minutes; an attempt without a store waits about as long for it.
 */
const RETRY_FIRST = 500
const RETRY_GROWTH = 1.2
const RETRY_LAST = 30_000

/**
 * Pauses before another try, of a day each, to store something without which a thread cannot go on. They double from the
 * first to the last, so that a history whose tries are refused at once lasts for ten years.
 */
const FIRST_PAUSE = 60_000
const LAST_PAUSE = 86_400_000

type Name = keyof ThreadActivities

type Input<N extends Name> = Parameters<ThreadActivities[N]>[0]

type Answer<N extends Name> = Awaited<ReturnType<ThreadActivities[N]>> & StoreAnswer

interface Call<N extends Name> {
  readonly name: N
  /** The activity's own limit in milliseconds. */
  readonly limit: number
  /** Registered names only: it is shown in the Temporal UI. */
  readonly summary: string
  /** `stop`: a stop and a terminate interrupt it; `terminate`: only a terminate does. */
  readonly interruptedBy: 'stop' | 'terminate' | null
  /** @default the thread's own */
  readonly taskQueue?: string | null
  readonly input: Omit<Input<N>, keyof ActivityInput>
  /** The step from which the activity may go on by itself. */
  readonly aheadFrom?: number | undefined
}

/** The outcome of an activity: its answer, an interruption without one, or a failure for good. */
type Called<N extends Name> =
  | {
      readonly kind: 'answered'
      readonly answer: Answer<N>
      /** The state that the activity got. */
      readonly sent: ThreadControl
      /** What came meanwhile. */
      readonly received: ReturnType<ThreadHost['endAction']>
    }
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'failed'; readonly failure: FailureCause }

/**
 * Runs one activity, with the facts that wait. It neither throws failures of activities nor returns invalid answers; any other
 * error is a bug. If an operator or a worker ended the activity without its answer, it is repeated once under the same ids: a
 * committed outcome is answered from its row.
 */
export async function callActivity<N extends Name>(host: ThreadHost, call: Call<N>): Promise<Called<N>> {
  const { control } = host
  const stores = storesFacts(control, call.name)
  const base: ActivityInput = {
    level: host.level,
    threadId: control.threadId,
    ...(control.start.store !== undefined && { store: control.start.store }),
    now: Date.now(),
    run: control.run?.number ?? control.runs,
    ...(stores ? factsToSend(control) : { facts: [] }),
  }
  host.beginAction(base.now)
  // The type of the input is that of the activity: `Call` took the common fields away, `base` gives them back.
  const input = { ...base, ...call.input } as Input<N>
  const first = await attempt(host, call, input)
  const called = isRepeated(host, call, first)
    ? await attempt(host, call, repeatInput(call.name, input))
    : first
  const received = host.endAction()
  // An earlier attempt may have committed what the answer for a terminated thread does not have.
  if (called.kind !== 'answered' || called.answer.type === 'terminated') {
    const operations = listOperations(call.name, input)
    host.update((current) => markUnacknowledged(current, operations, call.aheadFrom))
    if (stores) host.update((current) => keepUnansweredFacts(current, control, base.now))
  }
  if (called.kind !== 'answered') return called
  const { answer } = called
  const acknowledged = { answer, storesFacts: stores, isOfStep: isOfStep(call.name) }
  host.update((current) => acknowledge(current, control, acknowledged))
  return { ...called, sent: control, received }
}

/** The outcome of one attempt. */
type Attempted<N extends Name> =
  | { readonly kind: 'answered'; readonly answer: Answer<N> }
  | Exclude<Called<N>, { readonly kind: 'answered' }>

async function attempt<N extends Name>(
  host: ThreadHost,
  call: Call<N>,
  input: Input<N>,
): Promise<Attempted<N>> {
  const start = (): Promise<Answer<N>> => attemptInOwnStore(host, call, input)
  try {
    const answer = await (call.interruptedBy === null
      ? start()
      : host.cancellable(start, {
          by: call.interruptedBy,
          onInterrupt: (by) => storeStop(host, { by }),
          ...(mayDoSteps(host, call) && { onNews: () => storeNews(host, call.name, input) }),
        }))
    const problem = answerProblem(call.name, answer, input)
    if (problem === undefined) return { kind: 'answered', answer }
    host.receive((current) => recordRefusedAnswer(current, { activity: call.name, problem, asked: input }))
    return wasInterrupted(host, call) || isStopped(host, call)
      ? { kind: 'interrupted' }
      : { kind: 'failed', failure: 'no_answer' }
  } catch (error) {
    if (error instanceof CancelledFailure) return { kind: 'interrupted' }
    if (!(error instanceof ActivityFailure)) throw error
    if (wasInterrupted(host, call)) return { kind: 'interrupted' }
    const isFinal = error.retryState === RetryState.NON_RETRYABLE_FAILURE
    return { kind: 'failed', failure: isFinal ? 'failed' : 'timed_out' }
  }
}

/** Nobody waits for it: the activity in flight hears of its cancellation with a heartbeat, too. */
const STORE_STOP_TIMEOUT = 30_000

/** Whether the activity may do several steps; before the first plan of a thread the workflow does not know. */
function mayDoSteps<N extends Name>({ control: { plan } }: ThreadHost, { aheadFrom }: Call<N>): boolean {
  return aheadFrom !== undefined && (plan === null || plan.caps.stepsPerActivity !== undefined)
}

function storeNews<N extends Name>(host: ThreadHost, name: N, input: Input<N>): void {
  const operation = listOperations(name, input).at(-1)
  if (operation !== undefined) storeStop(host, { by: 'news', operation })
}

/**
 * Stores that the activity in flight is interrupted, or that an item without a row waits: it hears of that at once, as its
 * heartbeats are rare. This activity runs beside the other one, and is no action of the thread: it changes nothing that an
 * action reads (T1).
 */
function storeStop({ control, level }: ThreadHost, told: Pick<StoreStopInput, 'by' | 'operation'>): void {
  const input: StoreStopInput = {
    level,
    threadId: control.threadId,
    ...(control.start.store !== undefined && { store: control.start.store }),
    now: Date.now(),
    run: control.run?.number ?? control.runs,
    facts: [],
    ...told,
  }
  const { [ACTIVITIES.storeStop]: store } = proxyActivities<Record<string, ThreadActivities['storeStop']>>({
    scheduleToCloseTimeout: STORE_STOP_TIMEOUT,
    retry: { initialInterval: RETRY_FIRST, backoffCoefficient: RETRY_GROWTH },
    summary: told.by,
  })
  // A cancellation of the workflow, which may be the cause, does not cancel it.
  void CancellationScope.nonCancellable(async () => store?.(input)).catch(() => undefined)
}

/** Activities that are repeated after a failure for good. For model calls, effects and settles it is taken as intended. */
const REPEATED: ReadonlySet<Name> = new Set(['executeTool', 'completeCall', 'prepareChild', 'prepareMessage'])

function isRepeated<N extends Name>(host: ThreadHost, call: Call<N>, called: Attempted<N>): boolean {
  if (called.kind !== 'failed' || isStopped(host, call)) return false
  return called.failure === 'no_answer' || (called.failure === 'failed' && REPEATED.has(call.name))
}

/** T8: an activity of a step is not repeated once the run is to end; the settle of the run returns what it committed. */
function isStopped<N extends Name>({ control }: ThreadHost, { name }: Call<N>): boolean {
  return isOfStep(name) && (control.terminating || isStopping(control))
}

/** The repetition of a call only reads its row: the code, which ran or may still be running, does not run again. */
function repeatInput<N extends Name>(name: N, input: Input<N>): Input<N> {
  return name === 'executeTool' ? { ...input, failed: true } : input
}

/** A check of children stores no facts, and neither does a step's activity that goes on after a wait. */
function storesFacts({ run }: ThreadControl, name: Name): boolean {
  if (name === 'checkChildren' || name === 'expireChild') return false
  return run === null || !isResumed(run) || !isOfStep(name)
}

/** Activities of a step can ask for a wait and be repeated after it; other activities may come in between. */
function isOfStep(name: Name): boolean {
  return name === 'callModel' || REPEATED.has(name)
}

/**
 * If all workers have other stores, the thread waits as if there were no worker: after a day of retries the activity is
 * scheduled anew. Each round leaves a few events, and the thread does not continue as new during it.
 */
async function attemptInOwnStore<N extends Name>(
  host: ThreadHost,
  call: Call<N>,
  input: Input<N>,
): Promise<Answer<N>> {
  for (;;) {
    try {
      return await schedule(host, call, input)
    } catch (error) {
      if (wasInterrupted(host, call) || !hasFailureType(error, 'Thread.OtherStore')) throw error
    }
  }
}

function schedule<N extends Name>(host: ThreadHost, call: Call<N>, input: Input<N>): Promise<Answer<N>> {
  const { limit, summary, taskQueue = null } = call
  const options = activityOptions(host.control, { limit, summary, taskQueue })
  const activities =
    proxyActivities<Record<string, (input: Partial<Input<N>>) => Promise<Answer<N>>>>(options)
  const name = ACTIVITIES[call.name]
  const activity = activities[name]
  if (activity === undefined) throw new Error(`There is no activity ${call.name}.`)
  return activity(leanInput(name, input))
}

/** Whether the activity was cancelled; a worker that died after the cancellation leaves a failure instead of an answer. */
function wasInterrupted<N extends Name>(host: ThreadHost, call: Call<N>): boolean {
  const { terminating } = host.control
  if (call.interruptedBy === null) return false
  return terminating || (call.interruptedBy === 'stop' && isStopping(host.control))
}

interface ActivityPlace {
  /** Milliseconds. */
  readonly limit: number
  /** Registered names only: it is shown in the Temporal UI. */
  readonly summary: string
  /** Null: the thread's own. */
  readonly taskQueue: string | null
}

/**
 * Options of an activity whose own limit is `limit` milliseconds. The inner limit always ends before start-to-close; the death
 * of a worker is noticed after the heartbeat timeout; failures of store and worker are retried for a day; a cancelled activity
 * is awaited, so that nothing runs twice (T1).
 */
export function activityOptions(
  control: ThreadControl,
  { limit, summary, taskQueue }: ActivityPlace,
): ActivityOptions {
  return {
    ...(taskQueue === null ? {} : { taskQueue }),
    startToCloseTimeout: limit + START_TO_CLOSE_SLACK,
    scheduleToCloseTimeout: LIMITS.scheduleToClose,
    heartbeatTimeout: control.start.limits?.heartbeatTimeout ?? HEARTBEAT_TIMEOUT,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: {
      initialInterval: RETRY_FIRST,
      backoffCoefficient: RETRY_GROWTH,
      maximumInterval: RETRY_LAST,
    },
    summary,
  }
}

function isStopping({ run }: ThreadControl): boolean {
  return run !== null && run.stop !== null
}

/**
 * Repeats a write without which the thread cannot go on, until the store has taken it. The pauses grow, since the thread does
 * not continue as new here and each round leaves some ten events. A terminate during a try or a pause ends that pause.
 */
export async function untilStored<T>(host: ThreadHost, ask: () => Promise<T | null>): Promise<T> {
  for (let pause: number = FIRST_PAUSE; ; pause = Math.min(pause * 2, LAST_PAUSE)) {
    const { terminating } = host.control
    const answer = await ask()
    if (answer !== null) return answer
    const isInterrupted = (): boolean => host.control.terminating && !terminating
    await condition(isInterrupted, pause, { summary: 'the store has failed for a day' })
  }
}
