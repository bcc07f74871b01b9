import { openStore } from './store.js'
import type { Store } from './store.js'
import { storeLocation } from './store-location.js'
import type { StoreOptions } from './store-location.js'

interface Shared {
  readonly store: Promise<Store>
  users: number
}

const open = new Map<string, Shared>()

/**
 * The store of a place, one for all that use it in this process: a worker and a client side by side would otherwise
 * wait for each other's database lock, and waiting for that lock stops the event loop. The last `close` closes it.
 * @throws as `openStore`
 */
export async function shareStore(options: StoreOptions = {}): Promise<Store> {
  const { database, blobs } = storeLocation(options)
  const key = JSON.stringify([database, blobs])
  const shared = open.get(key) ?? { store: openStore(options), users: 0 }
  shared.users += 1
  open.set(key, shared)
  try {
    const store = await shared.store
    let left: Promise<void> | undefined
    return { ...store, close: () => (left ??= leave(key, shared)) }
  } catch (error) {
    // The next caller tries again: the disk may have come back.
    if (open.get(key) === shared) open.delete(key)
    throw error
  }
}

async function leave(key: string, shared: Shared): Promise<void> {
  shared.users -= 1
  if (shared.users > 0) return
  if (open.get(key) === shared) open.delete(key)
  await (await shared.store).close()
}
