import type { Way } from './threads.js'

/** A line of the client's journal: an action of a thread's plan has returned, or was refused for good. */
export interface Acknowledgement {
  readonly threadId: string
  /** Its place in the plan; -1 is the creation of the thread. */
  readonly action: number
  /** `full`: the message was refused, for the queue of its thread was full. */
  readonly kind: 'created' | 'sent' | 'full' | 'done' | 'skipped' | 'refused'
  /** Of a pause or what was skipped, that of its thread. */
  readonly way: Way
  readonly messageId?: string
  /** Of a refusal: what the client was told. */
  readonly problem?: string
}
