import { expect, test } from 'vitest'
import { deliverMessages } from '../../../src/store/messages/delivery.js'
import { stageMessage } from '../../../src/store/messages/message-writes.js'
import type { Store } from '../../../src/store/store.js'
import {
  closeChild,
  countChildren,
  findChild,
  insertChild,
  listChildren,
  saveReport,
  updateChild,
} from '../../../src/store/threads/children.js'
import {
  findRun,
  insertRun,
  lastRun,
  listWorkingThreads,
  readSharedContext,
  updateRun,
  writeSharedContext,
} from '../../../src/store/threads/runs.js'
import { updateThread } from '../../../src/store/threads/threads.js'
import { makeThread, NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

const run = (number: number) => ({
  thread_id: 't',
  number,
  trigger_kind: 'message',
  started_at: NOW + number,
})

const child = (reference: string, created_at = NOW) => ({
  parent_thread_id: 't',
  reference,
  call_id: 'call_1_1_0',
  agent: 'research',
  name: 'research',
  description: '',
  resumable: false,
  blocking: true,
  status: 'running',
  created_at,
})

const save = (store: Store, number: number, text: string) =>
  store.write((tx) =>
    saveReport(tx, {
      parentThreadId: 't',
      reference: 'c',
      number,
      report: { kind: 'result', text, attachments: [] },
      status: 'completed',
    }),
  )

export function runConformance(withStore: WithStore): void {
  test(
    'open threads that have a run under way, or a message that begins one, are working',
    withStore(async (store) => {
      const working = async () => (await store.read(listWorkingThreads)).toSorted()
      const stage = (threadId: string, silent: boolean) =>
        store.write((tx) =>
          stageMessage(tx, {
            ...{ id: `m_${threadId}`, threadId, role: 'user', content: '', silent },
            ...{ createdAt: NOW, sentBy: 'client', digest: 'd' },
          }),
        )
      for (const id of ['idle', 'told', 'sent', 't', 'closed']) await makeThread(store, id)
      for (const thread_id of ['t', 'closed'])
        await store.write((tx) => insertRun(tx, { ...run(1), thread_id }))
      for (const id of ['sent', 'closed']) expect(await stage(id, false)).toBe('staged')
      expect(await stage('told', true)).toBe('staged')
      await store.write((tx) => updateThread(tx, 'closed', { closed_at: NOW }))
      expect(await working()).toEqual(['sent', 't'])
      await store.write((tx) => deliverMessages(tx, { threadId: 'sent', ids: ['m_sent'], run: 1, step: 1 }))
      await store.write((tx) => updateRun(tx, { threadId: 't', number: 1 }, { ended_at: NOW }))
      expect(await working()).toEqual([])
    }),
  )

  test(
    'a run starts once and keeps its end',
    withStore(async (store) => {
      expect(await store.write((tx) => insertRun(tx, run(1)))).toBe(true)
      expect(await store.write((tx) => insertRun(tx, { ...run(1), trigger_kind: 'x' }))).toBe(false)
      const end = {
        ended_at: NOW + 5,
        reason: 'session_stop',
        outcome: 'completed' as const,
        steps: 3,
        usage: { inputTokens: 1, outputTokens: 2, cachedInputTokens: 0, cost: null },
        session: { outcome: 'success' as const, message: 'm', attachments: [] },
        output: { order: 'A-17' },
      }
      expect(await store.write((tx) => updateRun(tx, { threadId: 't', number: 1 }, end))).toBe(true)
      expect(await store.write((tx) => updateRun(tx, { threadId: 't', number: 9 }, end))).toBe(false)
      expect(await store.read((db) => findRun(db, { threadId: 't', number: 1 }))).toEqual({
        ...run(1),
        ...end,
        waited: 0,
        error: null,
        context: {},
        traceparent: null,
        permissions: null,
        cancel_reason: null,
      })
    }),
  )

  test(
    'the last run is the one with the highest number',
    withStore(async (store) => {
      expect(await store.read((db) => lastRun(db, 't'))).toBeNull()
      for (const number of [9, 10, 2]) await store.write((tx) => insertRun(tx, run(number)))
      expect((await store.read((db) => lastRun(db, 't')))?.number).toBe(10)
    }),
  )

  test(
    "a run's context is its own",
    withStore(async (store) => {
      const key = { threadId: 't', number: 1 }
      for (const number of [1, 2]) await store.write((tx) => insertRun(tx, run(number)))
      await store.write((tx) => writeSharedContext(tx, key, { seen: ['a'] }))
      expect(await store.read((db) => readSharedContext(db, key))).toEqual({ seen: ['a'] })
      expect(await store.read((db) => readSharedContext(db, { ...key, number: 2 }))).toEqual({})
      expect(await store.read((db) => readSharedContext(db, { ...key, number: 3 }))).toEqual({})
    }),
  )

  test(
    'children are listed in the order of their making',
    withStore(async (store) => {
      expect(await store.write((tx) => insertChild(tx, child('z')))).toBe(true)
      expect(await store.write((tx) => insertChild(tx, child('z')))).toBe(false)
      await store.write((tx) => insertChild(tx, child('a')))
      await store.write((tx) => insertChild(tx, { ...child('x'), parent_thread_id: 'other' }))
      const children = await store.read((db) => listChildren(db, 't'))
      expect(children.map((entry) => entry.reference)).toEqual(['z', 'a'])
      expect(await store.read((db) => countChildren(db, 't'))).toBe(2)
      expect(await store.read((db) => findChild(db, 'other', 'z'))).toBeNull()
      const key = { parentThreadId: 't', reference: 'z' }
      expect(await store.write((tx) => updateChild(tx, key, { status: 'idle', resumable: true }))).toBe(true)
      expect(await store.read((db) => findChild(db, 't', 'z'))).toEqual({
        ...child('z'),
        status: 'idle',
        resumable: true,
        message_id: null,
        title: null,
        thread_name: null,
        spawn_group_id: null,
        parent_communication: 'implicit',
        last_report: 0,
        report: null,
        receives: null,
        closed_at: null,
        status_text: null,
      })
    }),
  )

  test(
    'a child is closed once, by whoever knows first',
    withStore(async (store) => {
      await store.write((tx) => insertChild(tx, child('c')))
      const key = { parentThreadId: 't', reference: 'c' }
      const close = (status: string, now: number) =>
        store.write((tx) => closeChild(tx, { ...key, status, now }))
      expect(await close('completed', 5)).toMatchObject({ status: 'completed', closed_at: 5 })
      expect(await close('terminated', 6)).toBeNull()
      expect(await store.read((db) => findChild(db, 't', 'c'))).toMatchObject({ closed_at: 5 })
    }),
  )

  test(
    'a report that says nothing leaves what was told before',
    withStore(async (store) => {
      await store.write((tx) => insertChild(tx, child('c')))
      await save(store, 1, 'first')
      const key = { parentThreadId: 't', reference: 'c' }
      const last = { ...key, number: 2, status: 'terminated', closedAt: 9 }
      expect(await store.write((tx) => saveReport(tx, last))).toBe(true)
      const told = { status: 'terminated', closed_at: 9, report: { text: 'first' } }
      expect(await store.read((db) => findChild(db, 't', 'c'))).toMatchObject(told)
      await store.write((tx) => saveReport(tx, { ...key, number: 3, status: 'completed', report: null }))
      expect(await store.read((db) => findChild(db, 't', 'c'))).toMatchObject({ report: null, closed_at: 9 })
    }),
  )

  test(
    'T7: each report of a child is stored once',
    withStore(async (store) => {
      await store.write((tx) => insertChild(tx, child('c')))
      expect(await save(store, 1, 'first')).toBe(true)
      expect(await save(store, 1, 'first again')).toBe(false)
      expect(await save(store, 2, 'second')).toBe(true)
      expect(await save(store, 1, 'late')).toBe(false)
      expect(await store.read((db) => findChild(db, 't', 'c'))).toMatchObject({
        last_report: 2,
        status: 'completed',
        report: { kind: 'result', text: 'second', attachments: [] },
      })
    }),
  )
}
