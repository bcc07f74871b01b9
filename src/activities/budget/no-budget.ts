/**
 * A model call whose next request does not fit into a budget.
 * Owns: what is committed then.
 * Does not own: whether a person is asked (`over-budget.ts`), and the wait for requests of other threads (`turn/answer-commit.ts`).
 */
import type { CallModelAnswer } from '../../protocol/activities.js'
import { appendEvents } from '../../store/events.js'
import { deleteDeltas } from '../../store/messages/deltas.js'
import type { Store } from '../../store/store.js'
import { commit, finish, keep } from '../operation.js'
import { growWait } from '../turn/admission.js'
import {
  lastFacts,
  lastFailure,
  phasesToAnswer,
  recordFailures,
  stateOf,
  sumUnreportedUsage,
} from '../turn/answer-facts.js'
import { newPlan, toStreamedMessage, withOperations } from '../turn/model-step.js'
import type { ModelStep } from '../turn/model-step.js'
import type { OverBudget } from './charge.js'
import { stopAtBudget } from './over-budget.js'

/** Milliseconds: other threads give back what they hold of a budget within an answer. */
const LONGEST_TURN = 15_000

/** The wait for requests of other threads, which hold what is left of a budget; longer each time. */
export function waitForOthers({ log }: ModelStep) {
  return { milliseconds: Math.min(growWait(0, log.waits), LONGEST_TURN), isOfProvider: false } as const
}

/** The call waits for a person, or ends its run. */
export async function commitNoBudget(
  store: Store,
  step: ModelStep,
  over: OverBudget,
): Promise<CallModelAnswer> {
  const { input, operation, scope, now, log } = step
  const { threadId, run, frame } = input
  const call = { threadId, run, operation: operation.id, callId: frame?.callId ?? null, scope, now }
  const usage = sumUnreportedUsage(step)
  const before = lastFailure(step)
  return commit(store, operation, async (tx): Promise<CallModelAnswer> => {
    const { answer, events } = await stopAtBudget(tx, call, over)
    const told = { ...answer, ...newPlan(input, step.content), ...usage }
    await recordFailures(tx, step)
    await step.hooks.record(tx)
    await deleteDeltas(tx, toStreamedMessage(step))
    if (answer.type !== 'end') {
      log.report()
      await keep(tx, operation, { state: stateOf(step), detail: log.detail() })
      await appendEvents(tx, { threadId, events: [...before, ...events], now })
      return told
    }
    const ended = withOperations<CallModelAnswer>(told, step.operations)
    await finish(tx, operation, { answer: ended, detail: log.detail() })
    const rest = [...phasesToAnswer(step), ...lastFacts(step, 'budget_exceeded')]
    await appendEvents(tx, { threadId, events: [...before, ...events, ...rest], now })
    return ended
  })
}
