/**
 * A prompt becomes active: before its first step, and before anything is drained, the subagents that it lists as
 * `immediate` are called. What they are called with is decided here; the workflow then runs the calls as queued tools.
 */
import type { CallModelAnswer, CallModelInput } from '../../../protocol/activities.js'
import { actualSide } from '../../../protocol/plan.js'
import { findOperation } from '../../../store/operations.js'
import type { ActivityDependencies } from '../../dependencies.js'
import { promptOf } from '../../plan-content.js'
import { planOfStep } from '../drain-step.js'
import { operationOf } from '../model-step.js'
import { activationInput } from './activation.js'
import { beginActivation } from './begin-activation.js'
import { commitActivation } from './commit-activation.js'
import { deriveCalls } from './derive-calls.js'
import { dueImmediates } from './due-immediates.js'

/** Null: there is nothing to start, and the step begins. */
export async function activate(
  dependencies: ActivityDependencies,
  asked: CallModelInput,
  signal: AbortSignal,
): Promise<CallModelAnswer | null> {
  const { store } = dependencies
  const content = await planOfStep(dependencies, activationInput(asked))
  // The step itself says so.
  if (content === null) return null
  const input = activationInput({ ...asked, side: actualSide(content.plan, asked.side) })
  const activation = { input, content, prompt: promptOf(content, input.side) }
  const { threadId, id } = operationOf(input)
  const due = await dueImmediates(dependencies, activation)
  const known = due.length > 0 || (await store.read((db) => findOperation(db, threadId, id))) !== null
  // What an earlier attempt began is ended, also when a flag was turned off meanwhile.
  if (!known) return null
  const held = await beginActivation(dependencies, activation)
  if ('type' in held) return held
  const derived = await deriveCalls(dependencies, { ...activation, held }, { due, signal })
  return commitActivation(store, { ...activation, held }, derived)
}
