/**
 * The thread workflow: wiring between the pure logic of `thread/` and Temporal. It takes signals into the inbox, asks
 * `nextAction`, carries it out with nothing else in flight (T1), applies the answer, and continues as new between two
 * actions. No signal, model, tool or store makes it fail (T10); only a bug fails its task.
 */

import {
  CancellationScope,
  CancelledFailure,
  allHandlersFinished,
  condition,
  continueAsNew,
  isCancellation,
  sleep,
  workflowInfo,
} from '@temporalio/workflow'

import type { ThreadResult } from '../protocol/activities.js'
import { LEVEL } from '../protocol/answer-problem.js'
import { failure } from '../protocol/failures.js'
import { threadStartProblem } from '../protocol/message-problems.js'
import type { ThreadStart } from '../protocol/messages.js'
import { advance } from '../thread/advance.js'
import {
  carry,
  initialControl,
  reopenThread,
  restore,
  shouldContinueAsNew,
} from '../thread/continue-as-new.js'
import type { CarriedControl, HistoryFacts } from '../thread/continue-as-new.js'
import type { Closing, ThreadControl } from '../thread/control.js'
import { acceptMessage, firstMessage } from '../thread/inbox.js'
import { applyDueTimes, nextAction, nextDueAt } from '../thread/next-action.js'
import type { Action } from '../thread/next-action.js'
import { resumePostponed } from '../thread/reset.js'
import { performForOthers } from './other-threads.js'
import { createThreadHost } from './thread-host.js'
import type { ThreadHost } from './thread-host.js'
import { settle } from './settle.js'
import { showStatus } from './status.js'
import { performStep } from './steps.js'
import { waitFor } from './wait.js'
import { LIMITS } from '../protocol/limits.js'
import type { Millis } from '../protocol/time.js'
import { applyTermination } from '../thread/apply.js'
import { giveUpEffect, completeEffect } from '../thread/operations.js'
import { callActivity } from './activities.js'

/**
 * A durable agent thread; its workflow id is the thread's id.
 *
 * @returns control facts, never text
 * @throws `Thread.InvalidStart` when the start input is not valid
 */
export async function agentThread(start: ThreadStart, carried?: CarriedControl): Promise<ThreadResult> {
  const problem = threadStartProblem(start)
  if (problem !== undefined) throw failure('Thread.InvalidStart')
  const root = CancellationScope.current()
  const host = createThreadHost(firstControl(start, carried), LEVEL, root)
  // Cancellation is terminate(): it sets a flag of the state, seen between actions, and cancels none of the final writes.
  const closed = await CancellationScope.nonCancellable(() => run(host))
  return closeWorkflow(host, closed, root)
}

type Close = Extract<Action, { readonly kind: 'close' }>

async function run(host: ThreadHost): Promise<Close> {
  const alarm = createAlarm(host)
  for (;;) {
    // An update may come in the task that starts this run. On a replay it comes after the start: wait, so that its answer goes first.
    if (!allHandlersFinished()) await condition(allHandlersFinished)
    const now = Date.now()
    host.update((control) => advance(applyDueTimes(resumePostponed(control, now), now)))
    // Nothing is in flight, every update is answered, and nothing is awaited from here to the next action: a signal that
    // came in between would be lost, or not noticed.
    if (shouldContinueAsNew(host.control, historyFacts(host))) await goOnAsNew(host)
    const action = nextAction(host.control)
    if (action.kind === 'close') {
      // Lists in Temporal show how the thread ended.
      showStatus(host)
      return action
    }
    alarm.set(nextDueAt(host.control, now))
    showStatus(host)
    await perform(host, action)
  }
}

function goOnAsNew({ control }: ThreadHost): Promise<never> {
  return continueAsNew<typeof agentThread>(control.start, carry(control))
}

/** Only a run that continues another one has a carried state; one in the input of a new thread is ignored (T10). */
function firstControl(start: ThreadStart, carried: CarriedControl | undefined): ThreadControl {
  const continued = workflowInfo().continuedFromExecutionRunId !== undefined
  return continued && carried !== undefined ? restore(carried, start) : begin(start)
}

function begin(start: ThreadStart): ThreadControl {
  const now = Date.now()
  const { message, reopened, ...facts } = start
  const initial = initialControl(workflowInfo().workflowId, facts, now)
  const control = reopened === undefined ? initial : reopenThread(initial, reopened, now)
  return message === undefined ? control : acceptMessage(control, firstMessage(control, message), now)
}

function historyFacts(host: ThreadHost): HistoryFacts {
  const { historyLength, historySize, continueAsNewSuggested } = workflowInfo()
  return {
    events: historyLength,
    bytes: historySize,
    atLastAction: host.atLastAction,
    began: host.began,
    signals: host.signals,
    suggested: continueAsNewSuggested,
  }
}

/** Carries out one action and applies its outcome. It returns the promise of the action: one more would cost time in each step. */
function perform(host: ThreadHost, action: Exclude<Action, { readonly kind: 'close' }>): Promise<void> {
  switch (action.kind) {
    case 'wait':
    case 'awaitChildren':
    case 'awaitAnswer':
    case 'awaitModel':
    case 'waitUntil':
      return waitFor(host, action)
    case 'callModel':
    case 'callPrompt':
    case 'executeTool':
    case 'prepareChild':
    case 'prepareMessage':
    case 'completeCall':
    case 'runRemote':
      return performStep(host, action)
    case 'startChildren':
    case 'sendMessage':
    case 'stopChildren':
    case 'cancelTimedOut':
    case 'startDeferred':
    case 'expireChild':
    case 'cancelChild':
    case 'deliverReport':
    case 'announceReport':
    case 'sendOutbound':
      return performForOthers(host, action)
    case 'runEffect':
      return runEffect(host, action.effectId)
    case 'settle':
      return settle(host, action)
  }
}

/** A cancelled thread closes as Canceled, every other one as Completed; neither is a failure in Temporal. */
function closeWorkflow(
  host: ThreadHost,
  { closing }: { readonly closing: Closing },
  root: CancellationScope,
): ThreadResult {
  if (root.consideredCancelled) throw new CancelledFailure('The thread was terminated.')
  return { threadId: host.control.threadId, outcome: closing.outcome, reason: closing.reason }
}

/** One timer for all due times: it is for the earliest, and set anew only if that changes. */
interface Alarm {
  set(at: Millis | null): void
}

interface Timer {
  /** The due time. */
  readonly at: Millis
  /** Earlier than the due time if the server takes no timer that long. */
  readonly ringsAt: Millis
  readonly scope: CancellationScope
}

/** When it rings, due effects move into the inbox and expired requests are marked, also during an action. */
function createAlarm(host: ThreadHost): Alarm {
  let timer: Timer | null = null
  const set = (at: Millis | null): void => {
    if (at === (timer?.at ?? null)) return
    const now = Date.now()
    // A timer whose time has come rings by itself and sets the next one. The server may have fired it, and rejects its cancellation.
    if (timer !== null && timer.ringsAt <= now) return
    timer?.scope.cancel()
    timer = at === null ? null : startTimer(at, now)
  }
  const startTimer = (at: Millis, now: Millis): Timer => {
    const delay = Math.min(at - now, LIMITS.longestTimer)
    const scope = new CancellationScope({ cancellable: true })
    void scope.run(() => sleep(delay, { summary: 'next due time' })).then(ring, ignoreCancellation)
    return { at, ringsAt: now + delay, scope }
  }
  const ring = (): void => {
    timer = null
    const now = Date.now()
    host.receive((control) => applyDueTimes(control, now))
    set(nextDueAt(host.control, now))
  }
  return { set }
}

function ignoreCancellation(error: unknown): void {
  if (!isCancellation(error)) throw error
}

/** Runs a due effect, between two steps or without a run: a stop does not interrupt it, for it belongs to no run. */
async function runEffect(host: ThreadHost, effectId: string): Promise<void> {
  const called = await callActivity(host, {
    name: 'runEffect',
    limit: LIMITS.toolTimeout,
    summary: `effect ${effectId}`,
    interruptedBy: 'terminate',
    input: { effectId, agent: host.control.agent },
  })
  if (called.kind === 'interrupted') return
  if (called.kind === 'failed') {
    host.update((control) => giveUpEffect(control, effectId))
    // The thread may be idle for months after this, so a settle stores it now; if that fails too, the next one does.
    return settle(host, { ending: null, close: null })
  }
  const { answer } = called
  if (answer.type === 'terminated') return host.update(applyTermination)
  const { operations } = answer
  host.update((control) => completeEffect(control, { id: effectId, operations }, Date.now()))
}
