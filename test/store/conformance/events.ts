import type { Kysely } from 'kysely'
import { expect, test } from 'vitest'
import { anyFact } from '../../support/any-fact.js'
import { appendEvents, lastSequence, readEvents } from '../../../src/store/events.js'
import { appendDelta, deleteDeltas, dropAttempts, readDeltas } from '../../../src/store/messages/deltas.js'
import type { Schema } from '../../../src/store/schema.js'
import type { Reader, Store, Writer } from '../../../src/store/store.js'
import { findThread } from '../../../src/store/threads/threads.js'
import { createGate } from '../../support/gate.js'
import { until } from '../../support/until.js'
import { makeThread, NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

const stream = (store: Store, messageId: string, attempt: number, offset: number) =>
  store.write((tx) =>
    appendDelta(tx, { threadId: 't', messageId, attempt, kind: 'text', offset, text: `${offset}` }),
  )

const deltas = async (store: Store, after?: number) =>
  (await store.read((db) => readDeltas(db, 't', after))).map((delta) => [
    delta.messageId,
    delta.attempt,
    delta.offset,
  ])

/** Reads pages of all events until one is empty. */
async function readOn(
  store: Store,
  after: string | null,
): Promise<{ readonly found: readonly string[]; readonly next: string | null }> {
  const found: string[] = []
  for (let next = after; ;) {
    const page = await store.readAllEvents({ after: next, rows: 2 })
    found.push(...page.events.map(({ threadId, sequence }) => `${threadId} ${sequence}`))
    next = page.next
    if (page.events.length === 0) return { found, next }
  }
}

export function eventConformance(withStore: WithStore, sideBySide: boolean): void {
  test(
    'a reader begins before any event, also within a row, and not where there is none',
    withStore(async (store) => {
      for (const id of ['a', 'b']) await makeThread(store, id)
      const append = (threadId: string, ...names: readonly string[]) =>
        store.write((tx) =>
          appendEvents(tx, { threadId, events: names.map((name) => anyFact(name, {})), now: NOW }),
        )
      await append('a', 'one', 'two', 'three')
      await append('b', 'one')
      await append('a', 'four')
      const all = ['a 1', 'a 2', 'a 3', 'b 1', 'a 4']
      // On PostgreSQL the order waits for transactions of the whole server.
      await until('the order of events', async () => (await readOn(store, null)).found.length === all.length)
      for (const [index, event] of all.entries()) {
        const [threadId = '', sequence = ''] = event.split(' ')
        const cursor = await store.readCursorBefore({ threadId, sequence: Number(sequence) })
        expect((await readOn(store, cursor)).found).toEqual(all.slice(index))
      }
      for (const [threadId, sequence] of [
        ['a', 0],
        ['a', 5],
        ['c', 1],
      ] as const)
        expect(await store.readCursorBefore({ threadId, sequence })).toBeNull()
    }),
  )

  test(
    'events of all threads are read once each, those of a late commit too',
    withStore(async (store) => {
      for (const id of ['early', 'late']) await makeThread(store, id)
      const append = (threadId: string) => (tx: Writer) =>
        appendEvents(tx, { threadId, events: [anyFact('one', {}), anyFact('two', {})], now: NOW })
      await store.write(append('early'))
      const [inserted, gate] = [createGate(), createGate()]
      const late = store.write(async (tx) => {
        await append('late')(tx)
        // The rows have their ids, and the transaction is open.
        await lastSequence(tx, 'late')
        inserted.open()
        await gate.passed
      })
      await inserted.passed
      const early = store.write(append('early'))
      // On SQLite it waits its turn.
      if (sideBySide) await early
      const before = await readOn(store, null)
      gate.open()
      await Promise.all([late, early])
      const found = [...before.found, ...(await readOn(store, before.next)).found]
      expect(found.toSorted()).toEqual(['early 1', 'early 2', 'early 3', 'early 4', 'late 1', 'late 2'])
      const ofEarly = found.filter((event) => event.startsWith('early'))
      expect(ofEarly).toEqual(ofEarly.toSorted())
    }),
  )

  test(
    'events are numbered per thread and read after a sequence',
    withStore(async (store) => {
      await makeThread(store, 't')
      await makeThread(store, 'other')
      const scope = { runId: 'run_1', messageId: 'm' }
      const append = (threadId: string, types: readonly string[], now: number) =>
        store.write((tx) =>
          appendEvents(tx, {
            threadId,
            events: types.map((type) => anyFact(type, { type }, scope)),
            now,
          }),
        )
      await append('t', ['a', 'b'], NOW)
      await append('other', ['x'], NOW)
      await append('t', [], NOW)
      await append('t', ['c'], NOW + 7)
      expect(await store.read((db) => lastSequence(db, 't'))).toBe(3)
      expect(await store.read((db) => lastSequence(db, 'other'))).toBe(1)
      const after = await store.read((db) => readEvents(db, { threadId: 't', after: 1, limit: 10 }))
      expect(after).toEqual([
        { sequence: 2, type: 'b', at: NOW, scope, payload: { type: 'b' } },
        { sequence: 3, type: 'c', at: NOW + 7, scope, payload: { type: 'c' } },
      ])
      const one = await store.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 1 }))
      expect(one.map((event) => event.type)).toEqual(['a'])
      const beyond = { threadId: 't', after: Number.MAX_SAFE_INTEGER, limit: 10 }
      expect(await store.read((db) => readEvents(db, beyond))).toEqual([])
    }),
  )

  test(
    'a page of events reads what it gives',
    withStore(async (store) => {
      await makeThread(store, 't')
      const events = Array.from({ length: 100 }, (_, index) => anyFact(`e${index}`, {}))
      for (let round = 0; round < 3; round += 1)
        await store.write((tx) => appendEvents(tx, { threadId: 't', events, now: NOW }))
      const found: number[] = []
      for (let page = 0; page < 300; page += 7) {
        let rows = 0
        const counting = (db: Reader): Reader =>
          // What a store gives is all of Kysely.
          (db as Kysely<Schema>).withPlugin({
            transformQuery: ({ node }) => node,
            transformResult({ result }) {
              rows += result.rows.length
              return Promise.resolve(result)
            },
          })
        const read = { threadId: 't', after: page, limit: 7 }
        const given = await store.read((db) => readEvents(counting(db), read))
        expect(rows).toBeLessThanOrEqual(2)
        found.push(...given.map(({ sequence }) => sequence))
      }
      expect(found).toEqual(Array.from({ length: 300 }, (_, index) => index + 1))
    }),
  )

  test(
    'a sequence of a failed transaction is used again',
    withStore(async (store) => {
      await makeThread(store, 't')
      const events = [anyFact('a', {})]
      const failing = store.write(async (tx) => {
        await appendEvents(tx, { threadId: 't', events, now: NOW })
        expect(await lastSequence(tx, 't')).toBe(1)
        throw new Error('no')
      })
      await expect(failing).rejects.toThrow('no')
      await store.write((tx) => appendEvents(tx, { threadId: 't', events, now: NOW }))
      const read = { threadId: 't', after: 0, limit: 10 }
      expect((await store.read((db) => readEvents(db, read))).map(({ sequence }) => sequence)).toEqual([1])
    }),
  )

  test(
    'events move activity forward, never back',
    withStore(async (store) => {
      await makeThread(store, 't')
      const events = [anyFact('a', {})]
      for (const now of [NOW + 10, NOW + 5]) {
        await store.write((tx) => appendEvents(tx, { threadId: 't', events, now }))
      }
      expect((await store.read((db) => findThread(db, 't')))?.last_activity_at).toBe(NOW + 10)
    }),
  )

  test(
    'events of one who has moved activity leave it',
    withStore(async (store) => {
      await makeThread(store, 't')
      const events = [anyFact('a', {})]
      await store.write((tx) =>
        appendEvents(tx, { threadId: 't', events, now: NOW + 10, movesActivity: false }),
      )
      expect(await store.read((db) => findThread(db, 't'))).toMatchObject({
        last_activity_at: NOW,
        last_sequence: 1,
      })
    }),
  )

  test(
    'deltas stream in order until their message is committed',
    withStore(async (store) => {
      await stream(store, 'm', 1, 0)
      await stream(store, 'n', 1, 0)
      await stream(store, 'm', 2, 0)
      await stream(store, 'm', 2, 5)
      const [first] = await store.read((db) => readDeltas(db, 't'))
      expect(first).toMatchObject({ threadId: 't', kind: 'text', text: '0' })
      expect(await deltas(store, first?.id)).toEqual([
        ['n', 1, 0],
        ['m', 2, 0],
        ['m', 2, 5],
      ])
      await store.write((tx) => dropAttempts(tx, { threadId: 't', messageId: 'm' }, 2))
      expect(await deltas(store)).toEqual([
        ['n', 1, 0],
        ['m', 2, 0],
        ['m', 2, 5],
      ])
      await store.write((tx) => deleteDeltas(tx, { threadId: 't', messageId: 'm' }))
      expect(await deltas(store)).toEqual([['n', 1, 0]])
    }),
  )

  test(
    'ids of deleted deltas are never given again',
    withStore(async (store) => {
      await stream(store, 'm', 1, 0)
      const last = (await store.read((db) => readDeltas(db, 't'))).at(-1)?.id ?? 0
      await store.write((tx) => deleteDeltas(tx, { threadId: 't', messageId: 'm' }))
      await stream(store, 'n', 1, 0)
      expect(await deltas(store, last)).toEqual([['n', 1, 0]])
    }),
  )
}
