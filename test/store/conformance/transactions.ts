import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { anyFact } from '../../support/any-fact.js'
import { appendEvents, readEvents } from '../../../src/store/events.js'
import { appendMessage } from '../../../src/store/messages/delivery.js'
import { readTranscript } from '../../../src/store/messages/transcript.js'
import type { Writer } from '../../../src/store/store.js'
import { findThread, insertThread, updateThread } from '../../../src/store/threads/threads.js'
import { listValues, setValue } from '../../../src/store/threads/variables.js'
import { pipeline } from '../../../src/store/transaction.js'
import { makeThread, NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

export function transactionConformance(withStore: WithStore): void {
  test(
    'a write that throws leaves nothing behind',
    withStore(async (store) => {
      const failing = store.write(async (tx) => {
        await insertThread(tx, { id: 't', agent: 'support', created_at: NOW })
        throw new Error('changed my mind')
      })
      await expect(failing).rejects.toThrow('changed my mind')
      expect(await store.read((db) => findThread(db, 't'))).toBeNull()
      await makeThread(store, 't')
      expect(await store.read((db) => findThread(db, 't'))).not.toBeNull()
    }),
  )

  test(
    'a read never sees what is not committed',
    withStore(async (store) => {
      await makeThread(store, 't')
      await store.write(async (tx) => {
        await updateThread(tx, 't', { title: 'new' })
        expect((await findThread(tx, 't'))?.title).toBe('new')
        expect((await store.read((db) => findThread(db, 't')))?.title).toBeNull()
      })
      expect((await store.read((db) => findThread(db, 't')))?.title).toBe('new')
    }),
  )

  test(
    'parallel writers make positions and sequences without gaps',
    withStore(async (store) => {
      await makeThread(store, 't')
      const write = (id: string) =>
        store.write(async (tx) => {
          await appendMessage(tx, {
            id,
            threadId: 't',
            role: 'user',
            content: id,
            createdAt: NOW,
            sentBy: 'client',
          })
          await appendEvents(tx, {
            threadId: 't',
            events: [anyFact('one', {}), anyFact('two', {})],
            now: NOW,
          })
        })
      await Promise.all(Array.from({ length: 200 }, (_, index) => write(`m${index}`)))
      const transcript = await store.read((db) => readTranscript(db, 't'))
      const events = await store.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 1000 }))
      expect(transcript.map((message) => message.position)).toEqual(countTo(200))
      expect(new Set(transcript.map((message) => message.id)).size).toBe(200)
      expect(events.map((event) => event.sequence)).toEqual(countTo(400))
    }),
  )

  test(
    'of many writers that look first, one finds nothing',
    withStore(async (store) => {
      const write = (key: string) =>
        store.write(async (tx) => {
          if (Object.keys(await listValues(tx, 't')).length > 0) return
          await setValue(tx, { threadId: 't', key, value: 1 })
        })
      await Promise.all(countTo(30).map((number) => write(`key${number}`)))
      expect(Object.keys(await store.read((db) => listValues(db, 't')))).toHaveLength(1)
    }),
  )

  test(
    'statements run in the order in which they were made',
    withStore(async (store) => {
      await makeThread(store, 't')
      await store.write(async (tx) => {
        pipeline(tx, updateThread(tx, 't', { title: 'first' }))
        const [first] = await Promise.all([findThread(tx, 't'), updateThread(tx, 't', { title: 'second' })])
        pipeline(tx, updateThread(tx, 't', { title: 'third' }))
        expect(first?.title).toBe('first')
      })
      expect((await store.read((db) => findThread(db, 't')))?.title).toBe('third')
    }),
  )

  test(
    'pipelined statements are committed with all others, or not at all',
    withStore(async (store) => {
      await makeThread(store, 't')
      const message = { id: 'm', threadId: 't', role: 'user', content: 'x', createdAt: NOW } as const
      const events = [anyFact('one', {})]
      const write = store.write(async (tx) => {
        await appendMessage(tx, { ...message, sentBy: 'client' })
        // The same id again.
        await appendMessage(tx, { ...message, sentBy: 'client' })
        await appendEvents(tx, { threadId: 't', events, now: NOW })
      })
      await expect(write).rejects.toThrow(/unique/i)
      expect(await store.read((db) => readTranscript(db, 't'))).toEqual([])
      expect((await store.read((db) => findThread(db, 't')))?.last_sequence).toBe(0)
      await store.write((tx) => appendMessage(tx, { ...message, sentBy: 'client' }))
      expect(await store.read((db) => readTranscript(db, 't'))).toMatchObject([{ id: 'm', position: 1 }])
    }),
  )

  test(
    'a transaction fails with the first error of its statements',
    withStore(async (store) => {
      await makeThread(store, 't')
      const lost = async (tx: Writer): Promise<void> => {
        if ((await findThread(tx, 't'))?.title !== 'mine') throw new Error('lost to another one')
      }
      const twice = store.write(async (tx) => {
        pipeline(tx, lost(tx))
        await insertThread(tx, { id: 't', agent: 'support', created_at: NOW })
      })
      await expect(twice).rejects.toThrow('lost to another one')
    }),
  )

  test(
    'a statement that failed fails its transaction, though its error was caught',
    withStore(async (store) => {
      await makeThread(store, 't')
      const write = store.write(async (tx) => {
        await updateThread(tx, 't', { title: 'half' })
        await sql`select 1 from nowhere`.execute(tx).catch(() => undefined)
      })
      await expect(write).rejects.toThrow('nowhere')
      expect((await store.read((db) => findThread(db, 't')))?.title).toBeNull()
    }),
  )

  test(
    'no statement runs behind the end of its transaction',
    withStore(async (store) => {
      await makeThread(store, 't')
      for (const fails of [false, true]) {
        const kept: Writer[] = []
        const write = store.write(async (tx) => {
          kept.push(tx)
          await updateThread(tx, 't', { title: 'in time' })
          if (fails) throw new Error('changed my mind')
        })
        await write.catch(() => undefined)
        await expect(kept[0] && updateThread(kept[0], 't', { title: 'late' })).rejects.toThrow(
          'before the end',
        )
      }
      expect((await store.read((db) => findThread(db, 't')))?.title).toBe('in time')
    }),
  )

  test(
    'a closed store refuses, after ending what runs',
    withStore(async (store) => {
      const running = store.write(async (tx) => {
        await insertThread(tx, { id: 't', agent: 'support', created_at: NOW })
        return findThread(tx, 't')
      })
      const closing = store.close()
      expect((await running)?.id).toBe('t')
      await closing
      await expect(store.read((db) => findThread(db, 't'))).rejects.toMatchObject({ code: 'closed' })
      await expect(store.write((tx) => findThread(tx, 't'))).rejects.toMatchObject({ code: 'closed' })
    }),
  )
}

function countTo(last: number): readonly number[] {
  return Array.from({ length: last }, (_, index) => index + 1)
}
