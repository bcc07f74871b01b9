import type { Side } from './plan.js'

/**
 * What a tool, hook or effect did to its thread that the workflow has to know: committed with its outcome (T9), applied
 * in this order. Ids, registered names and flags only (T5).
 */
export type ThreadOperation =
  | { readonly kind: 'queue_message'; readonly id: string; readonly role: 'user' | 'assistant' }
  /** The row of the call is staged; `name` as in `CallRequest`. */
  | { readonly kind: 'queue_tool'; readonly id: string; readonly name: string }
  /** Milliseconds since 1970. */
  | { readonly kind: 'schedule_effect'; readonly id: string; readonly dueAt: number }
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

/** Another call follows in the step: the one that says this is not its last. */
export function queuesTool(operations: readonly ThreadOperation[] | undefined): boolean {
  return operations?.some(({ kind }) => kind === 'queue_tool') === true
}
