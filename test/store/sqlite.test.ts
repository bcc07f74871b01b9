import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe } from 'vitest'

import { openStore } from '../../src/store/store.js'
import { storeConformance } from './conformance.js'

describe('a store in a SQLite file', () => {
  let folder = ''
  let stores = 0
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'everthread-store-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  storeConformance(() => {
    const place = join(folder, String(++stores))
    return openStore({
      database: join(place, 'threads.db'),
      blobs: join(place, 'blobs'),
      secretKey: '1f'.repeat(32),
    })
  })
})
