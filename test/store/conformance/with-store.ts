import type { Store } from '../../../src/store/store.js'
import { insertThread } from '../../../src/store/threads/threads.js'

/** Makes a test body that gets a store of its own, and closes it. */
export type WithStore = (work: (store: Store) => Promise<void>) => () => Promise<void>

export const NOW = 1_763_767_000_000_001

export async function makeThread(store: Store, id: string): Promise<void> {
  await store.write((tx) => insertThread(tx, { id, agent: 'support', created_at: NOW }))
}

/** As the given one, with threads of these ids in each store. */
export function withThreads(withStore: WithStore, ...ids: readonly string[]): WithStore {
  return (work) =>
    withStore(async (store) => {
      for (const id of ids) await makeThread(store, id)
      await work(store)
    })
}
