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
