import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStore } from '../../src/store/open-store.js'
import { countBeat, listWorkers, removeWorker, takeDeadWorker } from '../../src/store/workers.js'
import { marked } from '../support/marker.js'
import { until } from '../support/until.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'

let fixture: Fixture

beforeAll(async () => {
  fixture = await createFixture()
})
afterAll(() => fixture.close())

test('a worker that ends leaves no row, and a row is taken once', async () => {
  const store = await openStore(fixture.store)
  try {
    const count = async (): Promise<number> => (await store.read(listWorkers)).length
    const before = await count()
    const worker = await fixture.startWorker()
    await until('its row', async () => (await count()) === before + 1)
    await worker.shutDown()
    expect(await count()).toBe(before)
    const dead = { id: 'dead', identity: '1@gone', beats: 2 }
    await store.write((tx) => countBeat(tx, { ...dead, beats: 1 }))
    await store.write((tx) => countBeat(tx, dead))
    expect(await store.read(listWorkers)).toContainEqual(dead)
    expect(await store.write((tx) => takeDeadWorker(tx, { ...dead, beats: 1 }, 9))).toBe(false)
    expect(await store.write((tx) => takeDeadWorker(tx, dead, 9))).toBe(true)
    expect(await store.write((tx) => takeDeadWorker(tx, dead, 9))).toBe(false)
    // Its taker holds it with each beat; a row that is gone does not come back.
    const taker = { id: 'taker', identity: '2@here', beats: 10 }
    await store.write((tx) => countBeat(tx, taker, ['dead', 'gone']))
    const rows = await store.read(listWorkers)
    expect(rows.filter(({ id }) => id !== 'dead' && id !== 'taker')).toHaveLength(before)
    expect(rows).toContainEqual({ ...dead, beats: 10 })
    for (const id of ['dead', 'taker']) await store.write((tx) => removeWorker(tx, id))
  } finally {
    await store.close()
  }
})

test('a worker that died is noticed by its lease, long before the heartbeat timeout', async () => {
  const id = 'lease-death'
  const worker = await fixture.startWorker()
  const held = fixture.model.hold(id, 'before')
  // The default heartbeat timeout: thirty seconds.
  const thread = await fixture.create({ id, message: marked(`please book #${id}`), limits: {} })
  await held.arrived
  const other = await fixture.startWorker()
  await worker.kill()
  const killed = Date.now()
  await until('a second request', () => fixture.model.requests(id).length === 2, 28_000, 100)
  const noticed = Date.now() - killed
  process.stdout.write(`noticed after ${noticed} ms\n`)
  expect(noticed).toBeGreaterThan(10_000)
  await thread.waitUntilIdle({ timeout: '100 s' })
  expect(await fixture.effects(id)).toHaveLength(1)
  await other.shutDown()
})

test('no worker has to live as long as a death takes to be noticed: the next one goes on with the count', async () => {
  const id = 'lease-relay'
  const worker = await fixture.startWorker()
  const held = fixture.model.hold(id, 'before')
  const thread = await fixture.create({ id, message: marked(`please book #${id}`), limits: {} })
  await held.arrived
  await worker.kill()
  const killed = Date.now()
  const isAsked = (): boolean => fixture.model.requests(id).length >= 2
  // Each of them dies too, after some beats.
  while (!isAsked() && Date.now() - killed < 28_000) {
    const other = await fixture.startWorker()
    for (const end = Date.now() + 9_000; !isAsked() && Date.now() < end;) await delay(50)
    if (!isAsked()) await other.kill()
  }
  process.stdout.write(`noticed before ${Date.now() - killed} ms\n`)
  expect(isAsked()).toBe(true)
  await thread.waitUntilIdle({ timeout: '100 s' })
  expect(await fixture.effects(id)).toHaveLength(1)
}, 120_000)
