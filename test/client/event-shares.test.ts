import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ClientContext } from '../../src/client/client-context.js'
import { followEvents } from '../../src/client/events/follow-events.js'
import type { ThreadEvent } from '../../src/client/index.js'
import { appendEvents } from '../../src/store/events.js'
import type { Store } from '../../src/store/store.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { anyFact } from '../support/any-fact.js'
import { until } from '../support/until.js'
import { createClientFixture } from './client-fixture.js'
import type { ClientFixture } from './client-fixture.js'

let fixture: ClientFixture
let reads = 0
let abort: AbortController
let subscriber: ReturnType<typeof subscribeTo>

beforeEach(async () => {
  fixture = await createClientFixture()
  abort = new AbortController()
  reads = 0
  subscriber = subscribeTo(fixture.store)
})
afterEach(async () => {
  abort.abort()
  await fixture.close()
})

/** On a store that counts what is read; of the context they use the store only. */
function subscribeTo(store: Store): (threadId: string) => AsyncGenerator<ThreadEvent, void, undefined> {
  const counting: Store = { ...store, read: (work) => ((reads += 1), store.read(work)) }
  const context = { store: () => Promise.resolve(counting) } as unknown as ClientContext
  return (threadId) => followEvents(context, threadId, { signal: abort.signal })
}

test('a hundred subscribers of a thread share each read', async () => {
  await addThread('t')
  const seen: number[] = []
  for (let n = 0; n < 100; n += 1) void count(subscriber('t'), () => seen.push(n))
  await append('t')
  await until('all to have the first event', () => seen.length === 100)
  const before = reads
  for (let n = 2; n <= 11; n += 1) {
    await append('t')
    await until(`all to have event ${n}`, () => seen.length === n * 100)
  }
  // One for each change; a second one where the poll finds what was told already.
  expect(reads - before).toBeLessThanOrEqual(20)
})

test('a subscriber that does not take its events reads no more', async () => {
  await addThread('t')
  await append('t')
  const slow = subscriber('t')
  expect(await slow.next()).toMatchObject({ value: { sequence: 1 } })
  const before = reads
  for (let n = 0; n < 300; n += 1) await append('t')
  expect(reads).toBe(before)
  for (let n = 2; n <= 301; n += 1) expect((await slow.next()).value).toMatchObject({ sequence: n })
  expect(reads - before).toBeLessThanOrEqual(5)
})

test('a thousand idle subscribers read nothing while others write', async () => {
  const ids = Array.from({ length: 1000 }, (_, n) => `t${n}`)
  await fixture.store.write(async (tx) => {
    for (const id of ids) {
      await insertThread(tx, { id, agent: 'support', created_at: 1 })
      await appendEvents(tx, { threadId: id, events: [anyFact('thread.started', {})], now: 1 })
    }
  })
  const seen: string[] = []
  for (const id of ids) void count(subscriber(id), () => seen.push(id))
  await until('all to have the first event', () => seen.length === 1000)
  await append('t7')
  await until('one to have its second', () => seen.length === 1001)
  const before = reads
  for (let n = 0; n < 20; n += 1) {
    await append('t7')
    await until('it to have the next', () => seen.length === 1002 + n)
  }
  expect(seen.slice(1000)).toEqual(Array.from({ length: 21 }, () => 't7'))
  expect(reads - before).toBeLessThanOrEqual(40)
})

test('pages that a thread has behind it are not kept', async () => {
  await addThread('t')
  for (let n = 0; n < 250; n += 1) await append('t')
  const catchUp = async () => {
    const one = subscriber('t')
    for (let n = 1; n <= 250; n += 1) expect((await one.next()).value).toMatchObject({ sequence: n })
    return one
  }
  await catchUp()
  const before = reads
  await catchUp()
  // The one at its end is shared.
  expect(reads - before).toBe(2)
})

test('who joins and leaves leaves nothing behind', async () => {
  await addThread('t')
  await append('t')
  const all = Array.from({ length: 10 }, () => subscriber('t'))
  for (const one of all) await one.next()
  for (const one of all) await one.return()
  const before = reads
  await append('t')
  const late = subscriber('t')
  expect(await late.next()).toMatchObject({ value: { sequence: 1 } })
  expect(await late.next()).toMatchObject({ value: { sequence: 2 } })
  expect(reads - before).toBe(1)
})

async function count(events: AsyncIterable<ThreadEvent>, seen: () => void): Promise<void> {
  for await (const _ of events) seen()
}

async function addThread(id: string): Promise<void> {
  await fixture.store.write((tx) => insertThread(tx, { id, agent: 'support', created_at: 1 }))
}

async function append(threadId: string): Promise<void> {
  await fixture.store.write((tx) => appendEvents(tx, { threadId, events: [anyFact('one', {})], now: 1 }))
}
