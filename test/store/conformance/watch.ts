import { expect, test } from 'vitest'
import { anyFact } from '../../support/any-fact.js'
import { appendEvents } from '../../../src/store/events.js'
import { appendDelta } from '../../../src/store/messages/deltas.js'
import type { Store } from '../../../src/store/store.js'
import { deleteStops, insertStop, isStopStored } from '../../../src/store/threads/stops.js'
import { until } from '../../support/until.js'
import { makeThread, NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

export function watchConformance(withStore: WithStore): void {
  test(
    'a commit of events or deltas tells who watches the thread',
    withStore(async (store) => {
      await makeThread(store, 't')
      const told = counted(store, 't')
      await append(store, 't')
      await until('to be told of an event', () => told.times > 0)
      const before = told.times
      await addDelta(store, 't')
      await until('to be told of a delta', () => told.times > before)
    }),
  )

  test(
    'a listener that reads when told misses nothing',
    withStore(async (store) => {
      await makeThread(store, 't')
      const seen: number[] = []
      const look = async (): Promise<void> => {
        const { last_sequence } = await store.read((db) =>
          db.selectFrom('threads').select('last_sequence').where('id', '=', 't').executeTakeFirstOrThrow(),
        )
        seen.push(last_sequence)
      }
      const end = store.watch('t', () => void look())
      for (let n = 1; n <= 30; n += 1) {
        await append(store, 't')
        await until(`to see event ${n}`, () => seen.includes(n))
      }
      end()
    }),
  )

  test(
    'writes elsewhere, or of something else, hardly tell',
    withStore(async (store) => {
      await makeThread(store, 't')
      await makeThread(store, 'quiet')
      const quiet = counted(store, 'quiet')
      const busy = counted(store, 't')
      for (let n = 0; n < 50; n += 1) {
        await append(store, 't')
        await store.write((tx) =>
          tx
            .updateTable('threads')
            .set({ title: `${n}` })
            .execute(),
        )
      }
      await until('to be told of the busy thread', () => busy.times > 0)
      expect(quiet.times).toBeLessThan(5)
    }),
  )

  test(
    'a failed write tells nobody, and the next one does',
    withStore(async (store) => {
      await makeThread(store, 't')
      await append(store, 't')
      const told = counted(store, 't')
      const failing = store.write(async (tx) => {
        await appendEvents(tx, { threadId: 't', events: [anyFact('one', {})], now: NOW })
        expect(told.times).toBe(0)
        throw new Error('changed my mind')
      })
      await expect(failing).rejects.toThrow('changed my mind')
      await append(store, 't')
      await until('to be told of the second commit', () => told.seen === 2)
    }),
  )

  test(
    'each watch ends by itself, twice is once',
    withStore(async (store) => {
      await makeThread(store, 't')
      let times = 0
      const listener = (): void => void (times += 1)
      const ends = [store.watch('t', listener), store.watch('t', listener)]
      ends[0]?.()
      ends[0]?.()
      const other = counted(store, 't')
      await append(store, 't')
      await until('the second watch to be told', () => times > 0)
      ends[1]?.()
      const before = times
      const told = other.times
      await append(store, 't')
      await until('the third to be told', () => other.times > told)
      expect(times).toBe(before)
    }),
  )

  test(
    'the end of the store is told, and ends all watching',
    withStore(async (store) => {
      await makeThread(store, 't')
      const told = counted(store, 't')
      await store.close()
      expect(told.times).toBeGreaterThan(0)
      expect(() => store.watch('t', () => undefined)).toThrow('Expected an open store')
      expect(() => store.watchStops('t', () => undefined)).toThrow('Expected an open store')
    }),
  )

  test(
    'a stop tells who watches the stops of its thread',
    withStore(async (store) => {
      await makeThread(store, 't')
      let times = 0
      const end = store.watchStops('t', () => void (times += 1))
      await stop(store, 'other')
      await stop(store, 't')
      await until('to be told of the stop', () => times > 0)
      end()
      const before = times
      const later = counting(store, 't')
      await until('the later watch to be told of the stored stop', () => later.times > 0)
      expect(times).toBe(before)
    }),
  )

  test(
    'events and text tell nobody who watches stops',
    withStore(async (store) => {
      await makeThread(store, 't')
      const told = counting(store, 't')
      await stop(store, 't')
      await until('to be told of the stop', () => told.times > 0)
      await store.write(async (tx) => deleteStops(tx, { threadId: 't', run: 1 }))
      const before = told.times
      for (let n = 0; n < 50; n += 1) {
        await append(store, 't')
        await addDelta(store, 't')
      }
      // It may be told once without cause, when its connection has just begun to listen.
      expect(told.times).toBeLessThanOrEqual(before + 1)
    }),
  )

  test(
    'a stop is of one run, a termination of all',
    withStore(async (store) => {
      await makeThread(store, 't')
      const stopped = () =>
        store.read((db) => Promise.all([null, 1, 2].map((run) => isStopStored(db, { threadId: 't', run }))))
      expect(await stopped()).toEqual([false, false, false])
      await stop(store, 't', 1)
      expect(await stopped()).toEqual([false, true, false])
      await stop(store, 't', null)
      expect(await stopped()).toEqual([true, true, true])
      await store.write(async (tx) => deleteStops(tx, { threadId: 't', run: 1 }))
      expect(await stopped()).toEqual([true, true, true])
      await store.write(async (tx) => deleteStops(tx, { threadId: 't', run: null }))
      expect(await stopped()).toEqual([false, false, false])
    }),
  )
}

function stop(store: Store, threadId: string, run: number | null = 1): Promise<void> {
  return store.write((tx) => insertStop(tx, { threadId, run }))
}

function counting(store: Store, threadId: string): { readonly times: number } {
  const told = { times: 0 }
  store.watchStops(threadId, () => void (told.times += 1))
  return told
}

interface Counted {
  readonly times: number
  /** The thread's last sequence at the last time. */
  readonly seen: number
}

function counted(store: Store, threadId: string): Counted {
  const told = { times: 0, seen: 0 }
  store.watch(threadId, () => {
    told.times += 1
    const read = store.read((db) =>
      db.selectFrom('threads').select('last_sequence').where('id', '=', threadId).executeTakeFirstOrThrow(),
    )
    read.then(
      ({ last_sequence }) => (told.seen = last_sequence),
      () => undefined,
    )
  })
  return told
}

async function append(store: Store, threadId: string): Promise<void> {
  await store.write((tx) => appendEvents(tx, { threadId, events: [anyFact('one', {})], now: NOW }))
}

async function addDelta(store: Store, threadId: string): Promise<void> {
  const delta = { threadId, messageId: 'm', attempt: 1, kind: 'text', offset: 0, text: 'Hi' } as const
  await store.write((tx) => appendDelta(tx, delta))
}
