import type { PlanContent } from '../../definitions/plan/plan-content.js'
import type { CallModelAnswer, CallModelInput } from '../../protocol/activities.js'
import { beginOperationId, modelOperationId } from '../../protocol/ids.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import { findOperation } from '../../store/operations.js'
import type { NewOperation, OperationRecord } from '../../store/operations.js'
import type { Writer } from '../../store/store.js'
import type { ActivityDependencies } from '../activity.js'
import { scheduledAt, takeOver } from '../operation.js'
import { currentPlan, keptPlan } from '../plan-content.js'
import { microseconds } from '../scope.js'

/** What the first transaction knows of the operation. */
export type HeldOperation = Pick<OperationRecord, 'attempt' | 'state' | 'message_id' | 'detail'>

/** What the drain noted for the answer. */
export function operationsOf({ detail }: Pick<HeldOperation, 'detail'>): readonly ThreadOperation[] {
  if (typeof detail !== 'object' || detail === null || !('operations' in detail)) return []
  // Written by `newOperation`: the store's boundary.
  return detail.operations as readonly ThreadOperation[]
}

export function operationOf(input: CallModelInput): { readonly threadId: string; readonly id: string } {
  const { threadId, run, step, frame } = input
  return { threadId, id: modelOperationId(run, step, frame?.callId ?? null) }
}

export function beginOperationOf(input: CallModelInput): { readonly threadId: string; readonly id: string } {
  return { threadId: input.threadId, id: beginOperationId(input.run) }
}

/** The end of a run that needs what this worker has lacked for a minute. */
export const MISSING = { type: 'end', reason: 'definition_missing', outcome: 'failed' } as const

/** A retry keeps the plan of the attempt that drained. */
export async function planOfStep(
  dependencies: ActivityDependencies,
  input: CallModelInput,
): Promise<PlanContent | null> {
  if (input.plan !== null) return keptPlan(dependencies, input.plan)
  const { id } = input.toolFirst ? beginOperationOf(input) : operationOf(input)
  const operation = await dependencies.store.read((db) => findOperation(db, input.threadId, id))
  const kept = planDigestOf(operation)
  return kept === null ? currentPlan(dependencies, input.agent) : keptPlan(dependencies, kept)
}

function planDigestOf(operation: OperationRecord | null): string | null {
  const detail = operation?.detail
  return typeof detail === 'object' && detail !== null && 'plan' in detail ? String(detail.plan) : null
}

/**
 * T4: a finished call is answered from its row; any other is held by this attempt from now on.
 * @throws `Operation.Late` if a later attempt holds it
 */
export async function heldAgain(
  tx: Writer,
  operation: OperationRecord,
): Promise<CallModelAnswer | HeldOperation> {
  // Written by this activity: the store's boundary.
  if (operation.state === 'finished') return operation.answer as CallModelAnswer
  return { ...operation, attempt: await takeOver(tx, operation, operation.state) }
}

/** The row of a model call that nothing was asked for yet. `operations`: of hooks, kept for the answer. */
export function newOperation(
  input: CallModelInput,
  { plan }: PlanContent,
  operations: readonly ThreadOperation[] = [],
): NewOperation & { readonly detail: unknown; readonly message_id: null } {
  const { threadId, id } = operationOf(input)
  const detail = { plan: plan.digest, ...(operations.length === 0 ? {} : { operations }) }
  const common = { thread_id: threadId, id, kind: 'model', state: 'drained', attempt: 1 } as const
  return { ...common, message_id: null, detail, started_at: microseconds(input), scheduled_at: scheduledAt() }
}

/** The plan rides back only when the workflow does not have it. */
export function newPlan(
  input: CallModelInput,
  { plan }: PlanContent,
): { readonly plan?: PlanContent['plan'] } {
  return plan.digest === input.knownPlan ? {} : { plan }
}

/** An answer with what hooks did to the thread, besides what it says already. */
export function withOperations<Answer extends CallModelAnswer>(
  answer: Answer,
  operations: readonly ThreadOperation[],
): Answer {
  if (operations.length === 0) return answer
  if (answer.type === 'terminated' || answer.type === 'moved') return answer
  if (answer.type === 'wait' || answer.type === 'refused') return answer
  const { operations: before = [] } = answer
  return { ...answer, operations: [...before, ...operations] }
}
