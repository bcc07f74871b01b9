import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStore } from '../../src/store/open-store.js'
import { marked } from '../support/marker.js'
import { makePlace } from '../support/test-store.js'
import type { TestPlace } from '../support/test-store.js'
import { until } from '../support/until.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import { expectWholeLog, wholeTranscript } from './worker/whole-thread.js'

let fixture: Fixture
let other: TestPlace

beforeAll(async () => {
  fixture = await createFixture()
  other = await makePlace()
  await fixture.startWorker({ store: { ...fixture.store, ...other.place } })
})
afterAll(async () => {
  await fixture.close()
  await other.remove()
})

const NAMES = Array.from({ length: 30 }, (_, index) => `mixed-${index}`)
/** Of these each calls a tool, too. */
const BOOKING = new Set(NAMES.slice(0, 10))
/** Requests of all threads in all, of 40 without a kill, after which the worker of their store is killed. */
const KILLED_AFTER = [6, 16, 26]

test('a thread that only another store has workers for waits, and doctor says why', async () => {
  const thread = await fixture.create({ id: 'mixed-waits', message: marked('Hello #mixed-waits') })
  const found = await until('the finding', async () => {
    for await (const finding of fixture.threads.doctor()) if (finding.kind === 'other_store') return finding
    return undefined
  })
  expect(found).toMatchObject({ threadId: 'mixed-waits', fixed: false })
  const storeId = await fixture.threads.storeId()
  expect(found.problem).toContain(`has another store than ${storeId}, polls the task queue`)
  expect(await thread.snapshot()).toMatchObject({ status: 'running' })
  const worker = await fixture.startWorker()
  expect(await thread.waitUntilIdle({ timeout: '100 s' })).toMatchObject({ reason: 'stop_on_response' })
  expect(fixture.model.requests('mixed-waits')).toHaveLength(1)
  await worker.kill()
})

test('a worker of another store on the queue loses no thread', async () => {
  let worker = await fixture.startWorker()
  const create = (id: string) =>
    fixture.create({ id, message: marked(BOOKING.has(id) ? `please book #${id}` : `Hello #${id}`) })
  const threads = await Promise.all(NAMES.map(create))
  for (const requests of KILLED_AFTER) {
    const next = fixture.prepareWorker()
    await until(`${requests} requests`, () => requested() >= requests)
    await worker.kill()
    worker = await next
    await worker.run()
  }
  await Promise.all(threads.map((thread) => thread.waitUntilIdle({ timeout: '100 s' })))
  const answers = await Promise.all(threads.map(async (thread) => (await wholeTranscript(thread)).at(-1)))
  const answered = answers.filter((row) => row?.role === 'assistant' && row.status === 'completed')
  expect(answered).toHaveLength(NAMES.length)
  for (const thread of threads) {
    expect(await thread.snapshot()).toMatchObject({ status: 'idle', queue: [] })
    await expectWholeLog(thread)
  }
  const foreign = await openStore(other.place)
  const rows = await foreign.read((db) => db.selectFrom('threads').select('id').execute())
  await foreign.close()
  expect(rows).toEqual([])
}, 180_000)

function requested(): number {
  return NAMES.reduce((sum, name) => sum + fixture.model.requests(name).length, 0)
}
