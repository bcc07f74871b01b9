import type { CallModelAnswer } from '../../../protocol/activities.js'
import { appendEvents } from '../../../store/events.js'
import { findOperation, insertOperation } from '../../../store/operations.js'
import { putPlan } from '../../../store/plans.js'
import type { Writer } from '../../../store/store.js'
import type { ActivityDependencies } from '../../dependencies.js'
import { openThread } from '../../thread-row.js'
import { endVariablesRequests, openVariablesRequests } from '../../variables/variables-request.js'
import { heldAgain, newOperation } from '../drain-step.js'
import { handOver } from '../hand-over.js'
import { hookDrain } from '../hook-drain.js'
import { microseconds, operationOf } from '../model-step.js'
import type { HeldOperation } from '../model-step.js'
import { beginRunRow, startedFact } from '../run-row.js'
import type { Activation, ActivationInput } from './activation.js'

/**
 * The first transaction: the run and its agent are there before anything is asked of a model, and this attempt holds the
 * activation (T4). Nothing is drained.
 */
export async function beginActivation(
  dependencies: ActivityDependencies,
  { input, content }: Activation,
): Promise<CallModelAnswer | HeldOperation> {
  // A run that begins here runs the hooks of a new thread, under the name that all runs without a drain have.
  const begins = { ...input, toolFirst: true, drain: [] }
  const hooked = await hookDrain(dependencies, begins, content)
  const { threadId } = input
  const now = microseconds(input)
  return dependencies.store.write(async (tx): Promise<CallModelAnswer | HeldOperation> => {
    const thread = await openThread(tx, input)
    if (thread === null) return { type: 'terminated' }
    const known = await findOperation(tx, threadId, operationOf(input).id)
    if (known !== null) return heldAgain(tx, known)
    const handed = await handOver(tx, input, thread)
    if (input.plan === null) await putPlan(tx, { digest: content.plan.digest, content, now })
    const started = await beginRun(tx, input)
    await appendEvents(tx, { threadId, events: [...input.facts, ...handed, ...started], now })
    const operation = { ...newOperation(input, content, await hooked.commit(tx)), kind: 'activation' }
    await insertOperation(tx, operation)
    return operation
  })
}

/** A run whose prompt lacks nothing ends what earlier runs asked for. */
async function beginRun(
  tx: Writer,
  input: ActivationInput,
): Promise<readonly ReturnType<typeof startedFact>[]> {
  const { threadId, trigger } = input
  if (trigger === null || !(await beginRunRow(tx, input, trigger))) return []
  const requests = await openVariablesRequests(tx, threadId)
  await endVariablesRequests(tx, { threadId, requests, decision: 'supplied', now: microseconds(input) })
  return [startedFact(input, trigger)]
}
