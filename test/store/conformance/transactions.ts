import { expect, test } from 'vitest'

import { appendMessage } from '../../../src/store/deliver-messages.js'
import { appendEvents, readEvents } from '../../../src/store/events.js'
import { readTranscript } from '../../../src/store/read-messages.js'
import { findThread, insertThread, updateThread } from '../../../src/store/threads.js'
import { listValues, setValue } from '../../../src/store/values.js'
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
          await appendEvents(tx, { threadId: 't', events: [{ type: 'one' }, { type: 'two' }], now: NOW })
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
