import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import { openStore } from '../../src/store/open-store.js'
import { makeBucket } from '../support/s3-bucket.js'
import { blobConformance } from './conformance/blobs.js'

describe('blobs in a bucket', () => {
  let folder = ''
  let stores = 0
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'everthread-store-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  blobConformance((work) => async () => {
    const bucket = await makeBucket()
    const database = join(folder, `${String(++stores)}.db`)
    const store = await openStore({ database, blobs: bucket.url('team/blobs') })
    try {
      await work(store)
    } finally {
      await store.close()
    }
  })
})
