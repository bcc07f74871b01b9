import { createSecretBox } from './secret-box.js'
import { secretKeys } from './secret-keys.js'
import { openPlaces } from './store.js'
import type { Store } from './store.js'
import { storeLocation } from './store-location.js'
import type { StoreOptions } from './store-location.js'
import { assertSecretsOpen } from './variables.js'

interface Shared {
  readonly store: ReturnType<typeof openPlaces>
  users: number
}

const open = new Map<string, Shared>()

/**
 * The store of a place, one for all that use it in this process: a worker and a client side by side would otherwise
 * wait for each other's database lock, and waiting for that lock stops the event loop. Each uses its own keys. The last
 * `close` closes it.
 * @throws as `openStore`
 */
export async function shareStore(options: StoreOptions = {}): Promise<Store> {
  const secrets = createSecretBox(secretKeys(options))
  const location = storeLocation(options)
  const key = JSON.stringify([location.database, location.blobs])
  const shared = open.get(key) ?? { store: openPlaces(location), users: 0 }
  shared.users += 1
  open.set(key, shared)
  let left: Promise<void> | undefined
  const close = (): Promise<void> => (left ??= leave(key, shared))
  const places = await shared.store.catch((error: unknown) => {
    // The next caller tries again: the disk may have come back.
    if (open.get(key) === shared) open.delete(key)
    throw error
  })
  try {
    await assertSecretsOpen(places, secrets)
    return { ...places, secrets, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function leave(key: string, shared: Shared): Promise<void> {
  shared.users -= 1
  if (shared.users > 0) return
  if (open.get(key) === shared) open.delete(key)
  await (await shared.store).close()
}
