import { openStore } from '../../src/store/open-store.js'
import type { Store } from '../../src/store/store.js'
import { withRepeatedWrites } from './repeated-writes.js'
import { makePlace } from './test-store.js'

/**
 * Runs `work` with an empty store of its own, which is gone afterwards, and the folder of its blobs. With
 * EVERTHREAD_TEST_WRITES=repeated each write is done, rolled back and done again.
 */
export async function withStore(
  work: (store: Store, blobFolder: string) => Promise<void>,
  options: { readonly secretKey?: string } = {},
): Promise<void> {
  const { place, blobFolder, remove } = await makePlace()
  try {
    const store = await openStore({ ...place, ...options })
    try {
      const repeats = process.env['EVERTHREAD_TEST_WRITES'] === 'repeated'
      await work(repeats ? withRepeatedWrites(store) : store, blobFolder)
    } finally {
      await store.close()
    }
  } finally {
    await remove()
  }
}
