/** What reads cost, by the least of many times: it does not depend on what else a machine does. */
import { expect, test } from 'vitest'
import { insertThread } from '../../src/store/threads/threads.js'
import { addChildRows } from '../support/child-rows.js'
import { createClientFixture } from './client-fixture.js'

const CHILDREN = 10_000
const ROWS = 500

test('a snapshot of a thread with 10,000 subagents takes less than 10 ms, and has the first 50', async () => {
  const { store, threads, close } = await createClientFixture()
  try {
    await store.write((tx) =>
      insertThread(tx, { id: 't', agent: 'lead', created_at: 1, closed_at: 2, status: 'completed' }),
    )
    await addChildRows(store, { id: 'c-0', parent: 't', root: 't' })
    await store.write(async (tx) => {
      const child = await tx.selectFrom('children').selectAll().executeTakeFirstOrThrow()
      for (let from = 1; from < CHILDREN; from += ROWS) {
        const numbers = Array.from({ length: Math.min(ROWS, CHILDREN - from) }, (_, index) => from + index)
        const rows = numbers.map((number) => ({ ...child, reference: `c-${number}`, created_at: number + 1 }))
        await tx.insertInto('children').values(rows).execute()
      }
    })
    const times: number[] = []
    for (let read = 0; read < 30; read += 1) {
      const began = performance.now()
      const { children, childCount } = await threads.get('t').snapshot()
      times.push(performance.now() - began)
      expect([children.length, childCount]).toEqual([50, CHILDREN])
    }
    expect(Math.min(...times)).toBeLessThan(10)
  } finally {
    await close()
  }
})
