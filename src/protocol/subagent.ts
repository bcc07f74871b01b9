/** A child as its parent knows it. */
export interface SubagentRegistryEntry {
  /** The child's thread id. */
  readonly reference: string
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly resumable: boolean
  readonly blocking: boolean
  /** The instance's own name. */
  readonly threadName?: string
  /** The same for all children that one call started in one go. */
  readonly spawnGroupId?: string
  /** Microseconds since 1970. */
  readonly createdAt: number
  /** `running`, `completed`, `failed`, `terminated`, `deferred`, or what the child said with `setStatus`. */
  readonly status: string
  readonly parentCommunication: 'implicit' | 'explicit'
}

/** A child whose rows, files and first message are in the store. */
export interface PreparedChild {
  /** The child's thread id. */
  readonly reference: string
  readonly agent: string
  readonly messageId: string
  readonly resumable: boolean
}

/** How a child answered a call that waited for it. */
export type CallReport =
  /** Its own words are in the store; `notice`: it ended and, by its configuration, says nothing by itself. */
  | { readonly kind: 'result' | 'failure' | 'notice'; readonly messageId?: string }
  /** It closed without a report, with this status of Temporal. */
  | { readonly kind: 'closed'; readonly status: string }
  /** The call waits no longer. */
  | { readonly kind: 'timed_out' }
