import type { CallModelInput } from '../../protocol/activities.js'
import type { EventScope } from '../../protocol/facts.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import { beginOperationId, modelOperationId, runIdOf, stepIdOf } from '../../protocol/ids.js'
import type { PlanContent, PromptContent } from '../../definitions/plan-content.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import type { StreamedMessage } from '../../store/deltas.js'
import type { OperationRecord } from '../../store/operations.js'
import { RequestLog } from './request-log.js'
import type { OperationDetail } from './request-log.js'

/** A model call that this attempt holds. */
export interface ModelStep {
  readonly input: CallModelInput
  readonly content: PlanContent
  readonly prompt: PromptContent & { readonly name: string }
  readonly operationId: string
  readonly attempt: number
  /** The assistant message that the answer will become. */
  readonly messageId: string
  /** The row that the answer stands below; null at the top. */
  readonly parentId: string | null
  readonly scope: EventScope
  /** Microseconds. */
  readonly now: number
  /** Of `performance`: when this attempt began. */
  readonly startedAt: number
  readonly log: RequestLog
  /** Those around this call: what they do is committed with its answer. */
  readonly hooks: HookBatch
  /** Of hooks that ran with the drain, for the answer. */
  readonly operations: readonly ThreadOperation[]
  /** An earlier attempt marked the phases up to the model call. */
  readonly resumed: boolean
}

/** What the first transaction knows of the operation. */
export type HeldOperation = Pick<OperationRecord, 'attempt' | 'state' | 'message_id' | 'detail'>

interface Opening extends Pick<ModelStep, 'input' | 'content' | 'prompt' | 'parentId' | 'hooks'> {
  readonly held: HeldOperation
}

/** @throws for an operation without a message: a bug of the caller */
export function openStep({ held, ...opening }: Opening): ModelStep {
  const { input, content } = opening
  const { message_id: messageId, attempt, state } = held
  if (messageId === null) throw new Error('Expected a model operation with its message, found none.')
  // Written by this activity: the store's boundary.
  const known = held.detail as Partial<OperationDetail> | null
  return {
    ...opening,
    operationId: operationOf(input).id,
    attempt,
    messageId,
    scope: { ...stepScope(input), messageId },
    now: microseconds(input),
    startedAt: performance.now(),
    log: new RequestLog({ plan: content.plan.digest, ...known }),
    resumed: state !== 'drained',
    operations: operationsOf(held),
  }
}

/** The message that the step's text streams to. */
export function streamedMessage({ input, messageId }: ModelStep): StreamedMessage {
  return { threadId: input.threadId, messageId }
}

/** What the drain noted for the answer. */
export function operationsOf({ detail }: Pick<HeldOperation, 'detail'>): readonly ThreadOperation[] {
  if (typeof detail !== 'object' || detail === null || !('operations' in detail)) return []
  // Written by `newOperation`: the store's boundary.
  return detail.operations as readonly ThreadOperation[]
}

export function stepScope({ run, step }: { readonly run: number; readonly step: number }): EventScope {
  return { runId: runIdOf(run), stepId: stepIdOf(run, step) }
}

export function operationOf(input: CallModelInput): { readonly threadId: string; readonly id: string } {
  const { threadId, run, step, frame } = input
  return { threadId, id: modelOperationId(run, step, frame?.callId ?? null) }
}

export function beginOperationOf(input: CallModelInput): { readonly threadId: string; readonly id: string } {
  return { threadId: input.threadId, id: beginOperationId(input.run) }
}

/** Microseconds, as all times in the store. */
export function microseconds(input: { readonly now: number }): number {
  return input.now * 1000
}
