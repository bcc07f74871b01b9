/** What the client does with one thread, in this order. */
export type Action =
  | Sending
  | { readonly kind: 'stop' }
  | { readonly kind: 'pause'; readonly milliseconds: number }
  /** Until it is idle, or that long. */
  | { readonly kind: 'settle'; readonly milliseconds: number }
  | { readonly kind: 'terminate' }
  /** Until a call of the thread holds it, or that long. */
  | { readonly kind: 'wait_for_hold'; readonly milliseconds: number }
  | { readonly kind: 'end_hold' }

export interface Sending {
  readonly kind: 'send'
  readonly id: string
  readonly content: string
  readonly files: readonly string[]
  /** A full queue may refuse it; any other message is sent again then. */
  readonly fills?: true
}

export interface ThreadPlan {
  readonly threadId: string
  readonly actions: readonly Action[]
  /** Nothing of it is left out. */
  readonly whole?: true
}

/** A message that has no program. */
export function words(threadId: string, name: string): Sending {
  return { kind: 'send', id: `${threadId}-${name}`, content: `Only words #${name}`, files: [] }
}
