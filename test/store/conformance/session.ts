import { expect, test } from 'vitest'
import { LIMITS } from '../../../src/protocol/limits.js'
import { findToolCall } from '../../../src/store/calls/tool-calls.js'
import { countUndelivered } from '../../../src/store/messages/message-writes.js'
import { stageQueuedTool } from '../../../src/store/messages/queued-tools.js'
import { findMessage } from '../../../src/store/messages/transcript.js'
import {
  endEffect,
  findEffect,
  insertEffect,
  listScheduledEffects,
} from '../../../src/store/threads/effects.js'
import { requestTermination } from '../../../src/store/threads/threads.js'
import { findVariables, openVariable, putVariable } from '../../../src/store/threads/variables.js'
import { makeThread, NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

const CALL = { threadId: 't', toolCallId: 'c1', name: 'notify', sentBy: 'client', now: NOW } as const

/** Delayed work, variables, and calls that no model chose. */
export function sessionConformance(withStore: WithStore): void {
  test(
    'an effect is scheduled once and ends once',
    withStore(async (store) => {
      const effect = { thread_id: 't', name: 'remind', created_at: NOW }
      const schedule = (id: string, due_at: number, args = {}) =>
        store.write((tx) => insertEffect(tx, { ...effect, id, due_at, args }))
      expect(await schedule('late', 9, { order: [1] })).toBe(true)
      expect(await schedule('soon', 3)).toBe(true)
      expect(await schedule('late', 1)).toBe(false)
      const listed = await store.read((db) => listScheduledEffects(db, 't'))
      expect(listed.map(({ id, args }) => [id, args])).toEqual([
        ['soon', {}],
        ['late', { order: [1] }],
      ])
      const ended = { threadId: 't', id: 'soon', now: NOW } as const
      const end = (status: 'done' | 'removed' | 'failed') =>
        store.write((tx) => endEffect(tx, { ...ended, status, error: 'e1' }))
      expect([await end('failed'), await end('done'), await end('removed')]).toEqual(['remind', null, null])
      const failed = await store.read((db) => findEffect(db, 't', 'soon'))
      expect(failed).toMatchObject({ status: 'failed', error: 'e1', finished_at: NOW })
      expect(await store.read((db) => listScheduledEffects(db, 't'))).toHaveLength(1)
      expect(await store.read((db) => findEffect(db, 'other', 'late'))).toBeNull()
    }),
  )

  test(
    'a variable keeps its type, and is a secret unless told',
    withStore(async (store) => {
      const put = (name: string, value: string, type?: 'text' | 'secret') =>
        store.write((tx) => putVariable(tx, store.secrets, { threadId: 't', name, value, type, now: NOW }))
      await put('CITY', 'Bern', 'text')
      await put('CITY', 'Rome')
      await put('TOKEN', 'canary-7')
      const rows = await store.read((db) => findVariables(db, 't', ['CITY', 'TOKEN', 'NONE']))
      const byName = new Map(rows.map((row) => [row.name, row]))
      expect(byName.get('CITY')).toMatchObject({ type: 'text', value: 'Rome', key_id: null })
      expect(byName.get('TOKEN')?.type).toBe('secret')
      expect(byName.get('TOKEN')?.value).not.toContain('canary')
      expect(rows.map((row) => openVariable(store.secrets, row)).toSorted()).toEqual(['Rome', 'canary-7'])
      expect(await store.read((db) => findVariables(db, 'other', ['CITY']))).toEqual([])
    }),
  )

  test(
    'a queued tool is accepted once, and its id for nothing else',
    withStore(async (store) => {
      await makeThread(store, 't')
      const stage = (args: Record<string, number>, name = 'notify') =>
        store.write((tx) => stageQueuedTool(tx, { ...CALL, name, args }))
      expect(await stage({ a: 1, b: 2 })).toBe('staged')
      expect(await stage({ b: 2, a: 1 })).toBe('same')
      expect(await stage({ a: 2 })).toBe('conflict')
      expect(await stage({ a: 1, b: 2 }, 'other')).toBe('conflict')
      const row = await store.read((db) => findToolCall(db, 't', 'c1'))
      expect(row).toMatchObject({ run: 0, step: 0, status: 'open', arguments: '{"a":1,"b":2}' })
      const holder = await store.read((db) => findMessage(db, 't', row?.message_id ?? ''))
      expect(holder).toMatchObject({ role: 'assistant', position: null, status: 'pending' })
      expect(await store.read((db) => countUndelivered(db, 't'))).toBe(1)
    }),
  )

  test(
    'T8 a terminated thread and a full queue take no tool',
    withStore(async (store) => {
      await makeThread(store, 't')
      const stage = (toolCallId: string) =>
        store.write((tx) => stageQueuedTool(tx, { ...CALL, toolCallId, args: {} }))
      await store.write(async (tx) => {
        for (let number = 0; number < LIMITS.queuedItems; number += 1)
          await stageQueuedTool(tx, { ...CALL, toolCallId: `c${number}`, args: {} })
      })
      expect(await stage('more')).toBe('queue_full')
      await store.write((tx) => requestTermination(tx, { threadId: 't', reason: null, now: NOW }))
      expect(await stage('late')).toBe('terminated')
      expect(await store.read((db) => findToolCall(db, 't', 'late'))).toBeNull()
      expect(await store.write((tx) => stageQueuedTool(tx, { ...CALL, threadId: 'none', args: {} }))).toBe(
        'missing_thread',
      )
    }),
  )
}
