import type { Way } from './threads.js'

/** A line of the journal of events: what a subscriber got, written before the next one is asked for. */
export interface ReceivedEvent {
  readonly threadId: string
  readonly way: Way
  readonly cursor: string
  readonly type: string
  /** Null: text that streams. */
  readonly sequence: number | null
  readonly eventId: string | null
  readonly messageId?: string
  readonly toolCallId?: string
  readonly reference?: string
  /** Of text: where its piece begins, and how long it is. */
  readonly delta?: { readonly attempt: number; readonly offset: number; readonly text: string }
}
