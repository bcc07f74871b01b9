import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readEvents } from '../../src/store/events.js'
import { readTranscript } from '../../src/store/messages/transcript.js'
import { openStore } from '../../src/store/open-store.js'
import type { Store } from '../../src/store/store.js'
import { findThread, updateThread } from '../../src/store/threads/threads.js'
import { until } from '../support/until.js'
import { makeThread } from './conformance/with-store.js'
import { killCharges } from './kill-charges.js'
import { runProcess } from './processes/run-process.js'
import type { StoreProcess } from './processes/run-process.js'

let folder = ''
const started: StoreProcess[] = []
const opened: Store[] = []

const place = () => ({ database: join(folder, 'threads.db'), blobs: join(folder, 'blobs') })

function start(job: string, ...options: readonly string[]): StoreProcess {
  const child = runProcess(job, place(), ...options)
  started.push(child)
  return child
}

async function open(): Promise<Store> {
  const store = await openStore(place())
  opened.push(store)
  return store
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everthread-processes-'))
})

afterEach(async () => {
  for (const child of started.splice(0)) await child.kill()
  for (const store of opened.splice(0)) await store.close()
  await rm(folder, { recursive: true, force: true })
})

test('two processes write without gaps or doubles', async () => {
  const store = await open()
  await makeThread(store, 't')
  const children = ['a', 'b', 'c'].map((name) => start('append', name, '100'))
  await Promise.all(children.map((child) => child.ended()))
  const transcript = await store.read((db) => readTranscript(db, 't'))
  const events = await store.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 1000 }))
  expect(transcript.map((message) => message.position)).toEqual(countTo(300))
  expect(events.map((event) => event.sequence)).toEqual(countTo(600))
  expect(new Set(transcript.map((message) => message.id)).size).toBe(300)
})

test('kills at any point of a charged request leave nothing held, and nothing uncounted', async () => {
  await killCharges(await open(), (thread) => start('charge', thread))
}, 600_000)

test('processes share a limit, and get exactly as many uses as it allows', async () => {
  const store = await open()
  await Promise.all(['a', 'b'].map((name) => start('take', name, '80', '100').ended()))
  const got = await store.read((db) => db.selectFrom('thread_values').select('value').execute())
  expect(got.reduce((sum, { value }) => sum + Number(value), 0)).toBe(100)
  expect(got).toHaveLength(2)
})

test('a commit by another process tells who watches', async () => {
  const store = await open()
  await makeThread(store, 't')
  await makeThread(store, 'quiet')
  let told = 0
  let quiet = 0
  const ends = [store.watch('t', () => void (told += 1)), store.watch('quiet', () => void (quiet += 1))]
  await start('append', 'a', '20').ended()
  await until('to be told', () => told > 0)
  expect(quiet).toBe(0)
  for (const end of ends) end()
})

test('who watches sees each of a hundred foreign commits', async () => {
  const store = await open()
  await makeThread(store, 't')
  const seen = new Set<number>()
  const look = async (): Promise<void> => {
    const events = await store.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 1000 }))
    for (const { sequence } of events) seen.add(sequence)
  }
  const end = store.watch('t', () => void look())
  await Promise.all(['a', 'b'].map((name) => start('append', name, '50').ended()))
  await until('to see all events', () => seen.size === 200)
  end()
})

test('a kill in the middle of a transaction leaves nothing half', async () => {
  const store = await open()
  await makeThread(store, 't')
  const child = start('hang')
  await child.said('in the middle')
  expect(await store.read((db) => readTranscript(db, 't'))).toEqual([])
  await child.kill()
  await store.write((tx) => updateThread(tx, 't', { title: 'free again' }))
  expect(await store.read((db) => readTranscript(db, 't'))).toEqual([])
  expect(await store.read((db) => findThread(db, 't'))).toMatchObject({
    title: 'free again',
    last_position: 0,
    last_sequence: 0,
  })
})

test('a lock held for 6 s never stops the event loop', async () => {
  const store = await open()
  await makeThread(store, 't')
  const child = start('hold', '6000')
  await child.said('holding')
  const delays = monitorEventLoopDelay({ resolution: 5 })
  delays.enable()
  const since = performance.now()
  const writes = countTo(20).map((n) => store.write((tx) => updateThread(tx, 't', { title: String(n) })))
  // Reads go on meanwhile, and see what was committed before.
  expect((await store.read((db) => findThread(db, 't')))?.title).toBeNull()
  expect(performance.now() - since).toBeLessThan(3_000)
  await Promise.all(writes)
  const waited = performance.now() - since
  delays.disable()
  expect(waited).toBeGreaterThan(3_500)
  expect(waited).toBeLessThan(30_000)
  // A write that waits inside SQLite stops it until the lock is gone; a busy machine alone, for a tenth of a second.
  expect(delays.max / 1e6).toBeLessThan(3_000)
  expect((await store.read((db) => findThread(db, 't')))?.title).toBe('20')
})

test('many processes that open at once migrate once', async () => {
  const children = ['a', 'b', 'c', 'd'].map((name) => start('append', name, '0'))
  const [store] = await Promise.all([open(), ...children.map((child) => child.ended())])
  await makeThread(store, 't')
  expect(await store.read((db) => findThread(db, 't'))).not.toBeNull()
})

function countTo(last: number): readonly number[] {
  return Array.from({ length: last }, (_, index) => index + 1)
}
