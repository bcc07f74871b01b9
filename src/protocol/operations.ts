import type { Side } from './plan.js'
import type { PreparedChild } from './status.js'
import type { Millis } from './time.js'

/**
 * What a tool, hook or effect did to its thread that the workflow has to know: committed with its outcome (T9), applied
 * in this order. Ids, registered names and flags only (T5).
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
  /** A subagent that lacks variables: its rows are in the store, it starts once the request is answered. */
  | {
      readonly kind: 'defer_child'
      readonly requestId: string
      readonly child: PreparedChild
      readonly expiresAt: Millis
    }
  /** A child was found closed: what it owes is answered for (T7). */
  | { readonly kind: 'child_closed'; readonly reference: string; readonly status: string }
  /** After a reset a recorded step met these messages, which no finished run has answered; the numbers are the highest. */
  | {
      readonly kind: 'postpone_messages'
      readonly ids: readonly string[]
      readonly runs: number
      readonly settles: number
      readonly reports: number
    }
  /** An operation on a parent or child: its rows are in the store, an outbound signal is for its workflow. */
  | { readonly kind: 'signal_thread'; readonly to: string; readonly operation: OutboundOperation }

/** What one thread may do to another. */
export type OutboundOperation = Extract<
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

/** Another call follows in the step: the call with this operation is not the last one. */
export function queuesTool(operations: readonly ThreadOperation[] | undefined): boolean {
  return operations?.some(({ kind }) => kind === 'queue_tool') === true
}
