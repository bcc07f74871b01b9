import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ThreadClient } from '../../src/client/index.js'
import type { ThreadEvent } from '../../src/client/index.js'
import { fact } from '../../src/protocol/facts.js'
import { appendEvents } from '../../src/store/events.js'
import { openStore } from '../../src/store/open-store.js'
import type { Store } from '../../src/store/store.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { createDatabase } from '../support/postgres-database.js'
import { seededRandom } from '../support/seeded-random.js'
import { until } from '../support/until.js'

const THREADS = 221
const WRITERS = 50
const WRITES = 12

test('a tree of 221 threads under 50 writers is read without a gap, a repetition or a wrong order', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-tree-'))
  const { url, drop } = await createDatabase()
  const place = { database: url, blobs: folder }
  const store = await openStore(place)
  const client = new ThreadClient({ store: place })
  try {
    const ids = Array.from({ length: THREADS }, (_, n) => (n === 0 ? 'root' : `child ${n}`))
    await store.write(async (tx) => {
      for (const id of ids)
        await insertThread(tx, { id, agent: 'support', created_at: 1, root_thread_id: 'root' })
      await insertThread(tx, { id: 'other', agent: 'support', created_at: 1 })
    })
    const end = new AbortController()
    const live: ThreadEvent[] = []
    const following = (async () => {
      for await (const event of client.get('root').events({ tree: true, signal: end.signal }))
        live.push(event)
    })()
    await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(store, ids, writer)))
    const expected = WRITERS * WRITES
    await until('all events', () => live.length >= expected * 2)
    // Whoever comes back behind any event gets the rest.
    const middle = live[expected]
    const rest: ThreadEvent[] = []
    for await (const event of client
      .get('root')
      .events({ tree: true, follow: false, ...(middle !== undefined && { after: middle.cursor }) }))
      rest.push(event)
    end.abort()
    await following
    const keys = live.map(({ eventId }) => eventId)
    expect(keys).toHaveLength(expected * 2)
    expect(new Set(keys).size).toBe(keys.length)
    expect(rest.map(({ eventId }) => eventId)).toEqual(keys.slice(expected + 1))
    for (const id of ids) {
      const sequences = live.filter(({ threadId }) => threadId === id).map(({ sequence }) => sequence)
      expect(sequences).toEqual(sequences.map((_, index) => index + 1))
    }
  } finally {
    await client.close()
    await store.close()
    await drop()
    await rm(folder, { recursive: true, force: true })
  }
})

/** Two events at a time into threads of the tree, in transactions of different length, and some into another thread. */
async function write(store: Store, ids: readonly string[], writer: number): Promise<void> {
  const random = seededRandom(writer)
  for (let n = 0; n < WRITES; n += 1) {
    const threadId = ids[random.below(ids.length)] ?? 'root'
    const events = ['one', 'two'].map((name) => fact('custom', { name, data: null }))
    const pause = random.below(4) * 5
    await store.write(async (tx) => {
      await appendEvents(tx, { threadId, events, now: 1 })
      // Its rows have their ids, and it commits behind others that began later.
      if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause))
    })
    if (random.chance(0.2)) await store.write((tx) => appendEvents(tx, { threadId: 'other', events, now: 1 }))
  }
}
