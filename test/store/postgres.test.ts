import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import { openStore } from '../../src/store/open-store.js'
import { createDatabase } from '../support/postgres-database.js'
import { storeConformance } from './conformance.js'

describe('a store in PostgreSQL', () => {
  let folder = ''
  let stores = 0
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'everthread-store-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  storeConformance(
    async () => {
      const { url, drop } = await createDatabase()
      const store = await openStore({
        database: url,
        blobs: join(folder, String(++stores)),
        secretKey: '1f'.repeat(32),
      })
      return { ...store, close: () => store.close().then(drop) }
    },
    { sideBySide: true },
  )
})
