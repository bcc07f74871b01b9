import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openStore } from '../../src/store/store.js'
import type { Store } from '../../src/store/store.js'

/** Runs `work` with an empty store in a folder of its own, which is gone afterwards. */
export async function withStore(
  work: (store: Store, folder: string) => Promise<void>,
  options: { readonly secretKey?: string } = {},
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-store-'))
  const place = { database: join(folder, 'threads.db'), blobs: join(folder, 'blobs') }
  const store = await openStore({ ...place, ...options })
  try {
    await work(store, folder)
  } finally {
    await store.close()
    await rm(folder, { recursive: true, force: true })
  }
}
