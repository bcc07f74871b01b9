import type { PlanContent } from '../../definitions/plan/plan-content.js'
import type { CallModelAnswer, CallModelInput } from '../../protocol/activities.js'
import { beginOperationId, modelOperationId } from '../../protocol/ids.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import type { OperationPlace, OperationRecord } from '../../store/operations.js'
import type { Beginning, OperationKey } from '../operation.js'
import { microseconds } from '../scope.js'

/** The operations of hooks that ran with the drain, which the answer returns. */
export function operationsOf({ detail }: Pick<OperationRecord, 'detail'>): readonly ThreadOperation[] {
  if (typeof detail !== 'object' || detail === null || !('operations' in detail)) return []
  // Made by `modelBeginning`: the store's boundary.
  return detail.operations as readonly ThreadOperation[]
}

/** The operation of a model call. */
export function operationOf(input: CallModelInput): OperationKey {
  const { threadId, run, step, frame } = input
  return { threadId, id: modelOperationId(run, step, frame?.callId ?? null) }
}

/** The operation that begins a run whose first call no model has chosen. */
export function beginOperationOf(input: CallModelInput): OperationKey {
  return { threadId: input.threadId, id: beginOperationId(input.run) }
}

/** The end of a run whose agent no worker has had for a minute. */
export const MISSING = { type: 'end', reason: 'definition_missing', outcome: 'failed' } as const

/** The step that a model call is, or the call of a prompt tool whose nested step it is. */
function placeOf({ run, step, side, frame }: CallModelInput): OperationPlace {
  return { run, step, side, key: frame?.callId ?? null }
}

/** How a model call begins: its input is drained, and no model was asked yet. `operations` are those of hooks. */
export function modelBeginning(
  input: CallModelInput,
  { plan }: PlanContent,
  operations: readonly ThreadOperation[] = [],
): Beginning {
  return {
    kind: 'model',
    place: placeOf(input),
    // A model that was asked and did not answer is asked again; each request is counted.
    onInterrupted: 'rerun',
    state: 'drained',
    now: microseconds(input),
    detail: { plan: plan.digest, ...(operations.length > 0 && { operations }) },
  }
}

/** The answer carries the plan only if the workflow does not have it. */
export function newPlan(
  input: CallModelInput,
  { plan }: PlanContent,
): { readonly plan?: PlanContent['plan'] } {
  return plan.digest === input.knownPlan ? {} : { plan }
}

/** Adds what hooks did to the thread to an answer. */
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
