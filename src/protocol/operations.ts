import type { Side } from './plan.js'
import type { PreparedChild } from './status.js'
import type { Millis } from './time.js'

/**
 * The effect of a tool, hook or effect on its thread, as far as it concerns the workflow. Operations are committed with
 * the outcome (T9) and applied in their order. Ids, registered names and flags only (T5).
 */
export type ThreadOperation =
  | { readonly kind: 'queue_message'; readonly id: string; readonly role: 'user' | 'assistant' }
  /** The row of the call is staged; `name` as in `CallRequest`. */
  | { readonly kind: 'queue_tool'; readonly id: string; readonly name: string }
  | { readonly kind: 'schedule_effect'; readonly id: string; readonly dueAt: Millis }
  | { readonly kind: 'remove_effect'; readonly id: string }
  /** A message that waited in the queue was deleted. */
  | { readonly kind: 'remove_queued'; readonly id: string }
  | { readonly kind: 'set_env' }
  /** Another agent takes over the thread at the end of the step. */
  | { readonly kind: 'hand_off'; readonly agent: string }
  | { readonly kind: 'force_turn'; readonly side: Side }
  /** The run ends after this call. */
  | { readonly kind: 'stop_run' }
  | { readonly kind: 'terminate' }
  /** A subagent that lacks variables. Its rows are in the store; it starts when the request is answered. */
  | {
      readonly kind: 'defer_child'
      readonly requestId: string
      readonly child: PreparedChild
      readonly expiresAt: Millis
    }
  /** A child is closed, so the calls that it owes get a result (T7). */
  | { readonly kind: 'child_closed'; readonly reference: string; readonly status: string }
  /**
   * After a reset a finished step was repeated with these messages, which no finished run has answered. The numbers are
   * the highest in use.
   */
  | {
      readonly kind: 'came_late'
      readonly ids: readonly string[]
      readonly runs: number
      readonly settles: number
      readonly reports: number
    }
  /** An operation on a parent or child: its rows are in the store, and its workflow gets an outbound signal. */
  | { readonly kind: 'tell'; readonly to: string; readonly operation: ToldOperation }

/** An operation of one thread on another. */
export type ToldOperation = Extract<
  ThreadOperation,
  {
    readonly kind:
      | 'queue_message'
      | 'queue_tool'
      | 'schedule_effect'
      | 'remove_effect'
      | 'remove_queued'
      | 'set_env'
      | 'terminate'
  }
>

/** True if another call follows in the step, because the operations queue one. */
export function queuesTool(operations: readonly ThreadOperation[] | undefined): boolean {
  return operations?.some(({ kind }) => kind === 'queue_tool') === true
}
