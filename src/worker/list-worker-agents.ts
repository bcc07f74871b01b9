import { agentListing } from '../definitions/agent-listing.js'
import type { Registry } from '../definitions/known-definitions.js'
import { putAgents } from '../store/agents.js'
import type { Store } from '../store/store.js'

/** Tells clients, through the store, which agents this worker runs. */
export async function listWorkerAgents(store: Store, registry: Registry): Promise<void> {
  const listed = { agents: agentListing(registry), now: Date.now() * 1000 }
  await store.write((tx) => putAgents(tx, listed))
}
