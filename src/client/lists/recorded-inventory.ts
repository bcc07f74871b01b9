import type { AgentInventory } from '../../definitions/inventory.js'
import { findInventory } from '../../store/agents.js'
import type { Reader } from '../../store/store.js'

interface RecordedInventory {
  readonly inventory: AgentInventory
  /** When it was last changed, in microseconds since 1970. */
  readonly recordedAt: number
}

/** What a worker has recorded of an agent; null: none has. */
export async function readInventory(db: Reader, agent: string): Promise<RecordedInventory | null> {
  const recorded = await findInventory(db, agent)
  // Written by a worker: the store's boundary.
  return recorded === null ? null : { ...recorded, inventory: recorded.inventory as AgentInventory }
}
