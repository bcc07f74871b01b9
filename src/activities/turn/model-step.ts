/**
 * A model call: the state that its phases share, its ids, and its operation.
 * Owns: the identity of the operation of a step, a nested step and the beginning of a run, and the operations of
 * hooks that an answer returns.
 * Does not own: the life of an operation (`operation.ts`), and the opening of a step (`call-model.ts`).
 */
import type { PlanContent, PromptContent } from '../../definitions/plan/plan-content.js'
import type { CallModelAnswer, CallModelInput } from '../../protocol/activities.js'
import type { EventScope } from '../../protocol/events.js'
import { beginOperationId, callIdOf, modelOperationId, nestedCallIdOf } from '../../protocol/ids.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import type { Micros } from '../../protocol/time.js'
import type { StreamedMessage } from '../../store/messages/deltas.js'
import type { OperationPlace, OperationRecord } from '../../store/operations.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import type { Beginning, HeldOperation, OperationKey } from '../operation.js'
import { microseconds } from '../scope.js'
import type { RequestLog } from './request-log.js'

/** A model call that this attempt holds. */
export interface ModelStep {
  readonly input: CallModelInput
  readonly content: PlanContent
  readonly prompt: PromptContent & { readonly name: string }
  readonly operation: HeldOperation
  /** The id of the message that the answer becomes. */
  readonly messageId: string
  /** The parent row of the answer; null at the top level. */
  readonly parentId: string | null
  readonly scope: EventScope
  readonly now: Micros
  /** The time of `performance` at which this attempt began. */
  readonly startedAt: number
  readonly log: RequestLog
  /** The hooks around this call; their writes are committed with its answer. */
  readonly hooks: HookBatch
  /** The operations of hooks that ran with the drain. */
  readonly operations: readonly ThreadOperation[]
  /** False: a request that prepares a step, and is none itself. */
  readonly isStep: boolean
  /** True if an earlier attempt has emitted the phases up to the model call. */
  readonly resumed: boolean
}

/** The id of the answer's call at that place. */
export function answerCallId(
  { input: { run, step, frame } }: Pick<ModelStep, 'input'>,
  index: number,
): string {
  return frame === null ? callIdOf(run, step, index) : nestedCallIdOf(frame.callId, index)
}

/** The message into which the step's text is streamed. */
export function toStreamedMessage({ input, messageId }: ModelStep): StreamedMessage {
  return { threadId: input.threadId, messageId }
}

/** The id under which the table `errors` holds the provider's text about a failed request. */
export function failureId(
  { operation: { threadId, id } }: Pick<ModelStep, 'operation'>,
  number: number,
): string {
  return `${threadId}:${id}:${number}`
}

/** The operations of the hooks of the drain, which the answer returns. */
export function operationsOf({ detail }: Pick<OperationRecord, 'detail'>): readonly ThreadOperation[] {
  if (typeof detail !== 'object' || detail === null || !('operations' in detail)) return []
  // Made by `modelBeginning`: the store's boundary.
  return detail.operations as readonly ThreadOperation[]
}

/** The operation of a model call. */
export function operationOf(input: CallModelInput): OperationKey {
  return { threadId: input.threadId, id: modelOperationId(input) }
}

/** The operation that begins a run whose first call is a queued tool. */
export function beginOperationOf(input: CallModelInput): OperationKey {
  return { threadId: input.threadId, id: beginOperationId(input.run) }
}

/** The answer for a run whose agent no worker has had for a minute. */
export const MISSING = { type: 'end', reason: 'definition_missing', outcome: 'failed' } as const

/** The step of a model call; for a nested step, also the call of its prompt tool. */
function placeOf({ run, step, side, frame }: CallModelInput): OperationPlace {
  return { run, step, side, key: frame?.callId ?? null }
}

/**
 * The beginning of a model call: its input is drained, and no model has been called. `operations` are those of hooks.
 */
export function modelBeginning(
  input: CallModelInput,
  { plan }: PlanContent,
  operations: readonly ThreadOperation[] = [],
): Beginning {
  return {
    kind: 'model',
    place: placeOf(input),
    // A model that was called and did not answer is called again; each request is counted.
    onInterrupted: 'rerun',
    state: 'drained',
    now: microseconds(input),
    detail: { plan: plan.digest, ...(operations.length > 0 && { operations }) },
  }
}

/** The plan as part of an answer, only if the workflow does not have it. */
export function newPlan(
  input: CallModelInput,
  { plan }: PlanContent,
): { readonly plan?: PlanContent['plan'] } {
  return plan.digest === input.knownPlan ? {} : { plan }
}

/**
 * A recorded answer with its plan, if the workflow does not have that: an activity that went on by itself knew the plan, and a
 * handoff that the workflow took in between makes it forget it.
 */
export function withNewPlan(
  answer: CallModelAnswer,
  input: CallModelInput,
  content: PlanContent,
): CallModelAnswer {
  if (answer.type === 'terminated' || answer.type === 'moved' || answer.type === 'refused') return answer
  return { ...answer, ...newPlan(input, content) }
}

/** Adds the operations of hooks to an answer. */
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
