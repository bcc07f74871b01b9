import type { PlanContent, PromptContent } from '../../definitions/plan/plan-content.js'
import type { CallModelInput } from '../../protocol/activities.js'
import type { EventScope } from '../../protocol/events.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import type { StreamedMessage } from '../../store/messages/deltas.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import type { HeldOperation } from '../operation.js'
import type { RequestLog } from './request-log.js'
import type { Micros } from '../../protocol/time.js'

/** A model call that this attempt holds. */
export interface ModelStep {
  readonly input: CallModelInput
  readonly content: PlanContent
  readonly prompt: PromptContent & { readonly name: string }
  readonly operation: HeldOperation
  /** The id of the message that the answer will become. */
  readonly messageId: string
  /** The row that the answer stands below; null at the top. */
  readonly parentId: string | null
  readonly scope: EventScope
  readonly now: Micros
  /** The time of `performance` at which this attempt began. */
  readonly startedAt: Micros
  readonly log: RequestLog
  /** The hooks around this call: what they do is committed with its answer. */
  readonly hooks: HookBatch
  /** The operations of hooks that ran with the drain. */
  readonly operations: readonly ThreadOperation[]
  /** An earlier attempt has emitted the phases up to the model call. */
  readonly resumed: boolean
}

/** The message that the step's text streams to. */
export function streamedMessage({ input, messageId }: ModelStep): StreamedMessage {
  return { threadId: input.threadId, messageId }
}

/** The id under which the table `errors` holds the words of a failed request. */
export function failureId(
  { operation: { threadId, id } }: Pick<ModelStep, 'operation'>,
  number: number,
): string {
  return `${threadId}:${id}:${number}`
}
