import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStore } from '../../src/store/open-store.js'
import type { Store } from '../../src/store/store.js'
import { storeConformance } from './conformance.js'

describe('a store in a SQLite file', () => {
  let folder = ''
  let stores = 0
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'everthread-store-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const open = (): Promise<Store> => {
    const place = join(folder, String(++stores))
    return openStore({
      database: join(place, 'threads.db'),
      blobs: join(place, 'blobs'),
      secretKey: '1f'.repeat(32),
    })
  }
  storeConformance(open, { sideBySide: false })

  test('the log is copied into the file after 4,000 pages, not after 1,000', async () => {
    const store = await open()
    const file = join(folder, String(stores), 'threads.db')
    const write = (name: string, pages: number): Promise<unknown> =>
      store.write((tx) =>
        tx
          .insertInto('thread_values')
          .values({ thread_id: 't', key: name, value: 'x'.repeat(pages * 4096) })
          .execute(),
      )
    const grown = async (): Promise<boolean> => (await stat(file)).size > 2_000 * 4096
    await write('a', 2_500)
    expect(await grown()).toBe(false)
    await write('b', 2_500)
    expect(await grown()).toBe(true)
    await store.close()
  })

  test('writers of one process are served in the order they come', async () => {
    const store = await open()
    const order: number[] = []
    const numbers = Array.from({ length: 50 }, (_, index) => index)
    await Promise.all(numbers.map((number) => store.write(async () => void order.push(number))))
    expect(order).toEqual(numbers)
    await store.close()
  })
})
