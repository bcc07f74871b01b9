import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStore } from '../../src/store/open-store.js'
import { countBeat, listWorkers, takeDeadWorker } from '../../src/store/workers.js'
import { marked } from '../support/marker.js'
import { until } from '../support/until.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'

let fixture: Fixture

beforeAll(async () => {
  fixture = await createFixture()
})
afterAll(() => fixture.close())

test('a worker that died is noticed by its lease, long before the heartbeat timeout', async () => {
  const id = 'lease-death'
  const worker = await fixture.startWorker()
  const held = fixture.model.hold(id, 'before')
  // The default heartbeat timeout: thirty seconds.
  const thread = await fixture.create({ id, message: marked(`please book #${id}`), limits: {} })
  await held.arrived
  await fixture.startWorker()
  await worker.kill()
  const killed = Date.now()
  await until('a second request', () => fixture.model.requests(id).length === 2, 28_000, 100)
  const noticed = Date.now() - killed
  process.stdout.write(`noticed after ${noticed} ms\n`)
  expect(noticed).toBeGreaterThan(10_000)
  await thread.waitUntilIdle({ timeout: '100 s' })
  expect(await fixture.effects(id)).toHaveLength(1)
})

test('a worker that ends leaves no row, and a row is taken once', async () => {
  const store = await openStore(fixture.store)
  try {
    const count = async (): Promise<number> => (await store.read(listWorkers)).length
    const before = await count()
    const worker = await fixture.startWorker()
    await until('its row', async () => (await count()) === before + 1)
    await worker.shutDown()
    expect(await count()).toBe(before)
    const dead = { id: 'dead', identity: '1@gone' }
    await store.write((tx) => countBeat(tx, dead))
    await store.write((tx) => countBeat(tx, dead))
    expect(await store.read(listWorkers)).toContainEqual({ ...dead, beats: 2 })
    expect(await store.write((tx) => takeDeadWorker(tx, { ...dead, beats: 1 }))).toBe(false)
    expect(await store.write((tx) => takeDeadWorker(tx, { ...dead, beats: 2 }))).toBe(true)
    expect(await store.write((tx) => takeDeadWorker(tx, { ...dead, beats: 2 }))).toBe(false)
  } finally {
    await store.close()
  }
})
