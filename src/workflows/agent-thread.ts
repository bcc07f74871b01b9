/**
 * The thread workflow: wiring between the pure logic of `thread/` and Temporal. It takes signals into the inbox, asks
 * `nextAction`, carries it out with nothing else in flight (T1), applies the answer, and continues as new between two
 * actions. It never fails for what a signal, a model, a tool or a store does (T10); only a bug fails its task.
 */
import {
  CancellationScope,
  CancelledFailure,
  allHandlersFinished,
  condition,
  continueAsNew,
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
  reopenThread,
  restore,
  restsAtBound,
  shouldContinueAsNew,
  initialControl,
} from '../thread/continue-as-new.js'
import type { CarriedControl, HistoryFacts } from '../thread/continue-as-new.js'
import type { Closing, ThreadControl } from '../thread/control.js'
import { acceptMessage, firstMessage } from '../thread/inbox.js'
import { comesDue, nextAction, nextDueAt } from '../thread/next-action.js'
import type { Action } from '../thread/next-action.js'
import { lateBegins } from '../thread/reset.js'
import { performForChildren } from './children.js'
import { registerHandlers } from './handlers.js'
import { performForOthers } from './other-threads.js'
import { runEffect, settle } from './settle.js'
import { showStatus } from './status.js'
import { performStep } from './steps.js'
import { createThreadHost } from './thread-host.js'
import type { ThreadHost } from './thread-host.js'
import { createAlarm, waitFor } from './wait.js'

/**
 * A durable agent thread; its workflow id is the thread's id.
 *
 * @returns control facts, never text
 * @throws `Thread.InvalidStart` when the start input is not valid
 */
export async function agentThread(start: ThreadStart, carried?: CarriedControl): Promise<ThreadResult> {
  const problem = threadStartProblem(start)
  if (problem !== undefined) throw failure('Thread.InvalidStart')
  const host = createThreadHost(firstControl(start, carried), LEVEL)
  const root = CancellationScope.current()
  registerHandlers(host, root)
  // Cancellation is terminate(): it is a fact of the state, seen between actions, and cuts none of the final writes.
  const closed = await CancellationScope.nonCancellable(() => run(host))
  return closeWorkflow(host, closed, root)
}

type Close = Extract<Action, { readonly kind: 'close' }>

async function run(host: ThreadHost): Promise<Close> {
  const alarm = createAlarm(host)
  for (;;) {
    // An update may come in the task that starts this run: on a replay it comes after it, and its answer goes first.
    if (!allHandlersFinished()) await condition(allHandlersFinished)
    const now = Date.now()
    host.update((control) => advance(comesDue(lateBegins(control, now), now)))
    // Nothing is in flight, every answer is told, and nothing is awaited from here to the next action: whatever came
    // in between would be lost, or waited for in vain.
    if (continuesAsNew(host)) await goOnAsNew(host)
    const action = nextAction(host.control)
    if (action.kind === 'close') {
      // Lists in Temporal show how a thread ended for as long as Temporal keeps it.
      showStatus(host)
      return action
    }
    alarm.set(nextDueAt(host.control, now))
    showStatus(host)
    await perform(host, action)
  }
}

function continuesAsNew(host: ThreadHost): boolean {
  const { control } = host
  const history = historyFacts(host)
  return shouldContinueAsNew(control, history) || restsAtBound(control, history)
}

function goOnAsNew({ control }: ThreadHost): Promise<never> {
  return continueAsNew<typeof agentThread>(control.start, carry(control))
}

/** Only a run that continues another one has a carried state: whatever else a start brings is passed over (T10). */
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
    began: host.began,
    signals: host.signals,
    suggested: continueAsNewSuggested,
  }
}

/** Carries out one action and applies what came of it. Its promise is the action's own: each more is paid for in each step. */
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
    case 'cancelLate':
    case 'startDeferred':
    case 'expireChild':
    case 'cancelChild':
      return performForChildren(host, action)
    case 'deliverReport':
    case 'announceReport':
    case 'tell':
      return performForOthers(host, action)
    case 'runEffect':
      return runEffect(host, action.effectId)
    case 'settle':
      return settle(host, action)
  }
}

/** A thread that was cancelled closes as Canceled, every other one as Completed: both soft, through its own code. */
function closeWorkflow(
  host: ThreadHost,
  { closing }: { readonly closing: Closing },
  root: CancellationScope,
): ThreadResult {
  if (root.consideredCancelled) throw new CancelledFailure('The thread was terminated.')
  return { threadId: host.control.threadId, outcome: closing.outcome, reason: closing.reason }
}
