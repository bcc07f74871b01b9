/** What happened to the queue. */
export interface QueueChange {
  /** The number of items that waited then. */
  readonly waiting: number
  /** Items that joined the queue, in order. */
  readonly added?: readonly AddedItem[]
  /** Ids of items that a step, a queued tool or a due effect took, in order. */
  readonly taken?: readonly string[]
  /** Ids of items that were taken back. */
  readonly removed?: readonly string[]
  /** Ids of items that were moved before everything that waits, the last one to the front. */
  readonly promoted?: readonly string[]
  /** The number of changes whose ids did not fit into the event. */
  readonly unlisted?: number
}

/** The kinds of items. */
export type ItemKind = 'message' | 'tool' | 'effect' | 'report' | 'variables' | 'continue'

/** An item that joined the queue. */
interface AddedItem {
  /** Its id. */
  readonly id: string
  /** Its kind, as in the queue of a snapshot. */
  readonly kind: ItemKind
}
