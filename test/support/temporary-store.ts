import { openStore } from '../../src/store/store.js'
import type { Store } from '../../src/store/store.js'
import { makePlace } from './test-store.js'

/** Runs `work` with an empty store of its own, which is gone afterwards, and the folder of its blobs. */
export async function withStore(
  work: (store: Store, blobFolder: string) => Promise<void>,
  options: { readonly secretKey?: string } = {},
): Promise<void> {
  const { place, blobFolder, remove } = await makePlace()
  try {
    const store = await openStore({ ...place, ...options })
    try {
      await work(store, blobFolder)
    } finally {
      await store.close()
    }
  } finally {
    await remove()
  }
}
