/** A provider asked to wait, or its limit is reached: the operation stays held, and goes on under the same id (T4). */
import type { CallModelAnswer } from '../../protocol/activities.js'
import { deleteDeltas } from '../../store/deltas.js'
import { appendEvents } from '../../store/events.js'
import { takeOperation } from '../../store/operations.js'
import { countWait } from '../../store/runs.js'
import type { Store } from '../../store/store.js'
import { OperationLost, commitHeld } from '../commit.js'
import { failedFact } from './answer-facts.js'
import { newPlan } from './drain-step.js'
import { operationOf, streamedMessage } from './model-step.js'
import type { ModelStep } from './model-step.js'
import { recordFailures } from './record-failures.js'

export async function commitWait(
  store: Store,
  step: ModelStep,
  milliseconds: number,
): Promise<CallModelAnswer> {
  const { input, attempt, log, startedAt } = step
  const { threadId, run, now } = input
  // Counted from the workflow's time: the worker's clock is not its timer's.
  const until = Math.ceil(now + performance.now() - startedAt + milliseconds)
  const usage = log.unreported()
  const last = log.failures.at(-1)
  log.wait(milliseconds)
  const state = step.resumed || log.number > 0 ? 'started' : 'drained'
  return commitHeld(store, operationOf(input), async (tx): Promise<CallModelAnswer> => {
    const hold = { ...operationOf(input), attempt, state, detail: log.detail() } as const
    if (!(await takeOperation(tx, hold))) throw new OperationLost()
    await countWait(tx, { threadId, number: run }, milliseconds)
    await deleteDeltas(tx, streamedMessage(step))
    await recordFailures(tx, step)
    const events = last === undefined ? [] : [failedFact(step, last.error, 'wait')]
    await appendEvents(tx, { threadId, events, now: step.now })
    return { type: 'wait', until, ...newPlan(input, step.content), ...(usage === null ? {} : { usage }) }
  })
}
