import type { CallModelAnswer, CallModelInput } from '../../protocol/activities.js'
import { appendEvents } from '../../store/events.js'
import { findOperation, insertOperation } from '../../store/operations.js'
import { putPlan } from '../../store/plans.js'
import type { Writer } from '../../store/store.js'
import type { ActivityDependencies } from '../dependencies.js'
import { openThread } from '../thread-row.js'
import { MISSING, newPlan, planOfStep } from './drain-step.js'
import { handOver } from './hand-over.js'
import { UNHOOKED, hookDrain } from './hook-drain.js'
import { beginOperationOf, microseconds } from './model-step.js'
import { beginRunRow, startedFact } from './run-row.js'
import { withOperations } from './with-operations.js'

/** A run that a queued tool begins gets its row and its plan: nothing is drained, and no model is asked. */
export async function beginRun(
  dependencies: ActivityDependencies,
  input: CallModelInput,
): Promise<CallModelAnswer> {
  const content = await planOfStep(dependencies, input)
  const begun: CallModelAnswer = content === null ? MISSING : { type: 'begun', ...newPlan(input, content) }
  const hooked = content === null ? UNHOOKED : await hookDrain(dependencies, input, content)
  const now = microseconds(input)
  return dependencies.store.write(async (tx): Promise<CallModelAnswer> => {
    const thread = await openThread(tx, input)
    if (thread === null) return { type: 'terminated' }
    const { threadId, id } = beginOperationOf(input)
    const known = await findOperation(tx, threadId, id)
    // Written by this activity: the store's boundary.
    if (known !== null) return known.answer as CallModelAnswer
    const handed = content === null ? [] : await handOver(tx, input, thread)
    if (content !== null) await putPlan(tx, { digest: content.plan.digest, content, now })
    const detail = content === null ? null : { plan: content.plan.digest }
    const events = [...input.facts, ...handed, ...(await startedFacts(tx, input))]
    await appendEvents(tx, { threadId, events, now })
    const answer = withOperations(begun, await hooked.commit(tx))
    const operation = { thread_id: threadId, id, kind: 'begin', state: 'finished', attempt: 1 } as const
    await insertOperation(tx, { ...operation, answer, detail, started_at: now, finished_at: now })
    return answer
  })
}

async function startedFacts(
  tx: Writer,
  input: CallModelInput,
): Promise<readonly ReturnType<typeof startedFact>[]> {
  const { trigger } = input
  if (trigger === null || !(await beginRunRow(tx, input, trigger))) return []
  return [startedFact(input, trigger)]
}
