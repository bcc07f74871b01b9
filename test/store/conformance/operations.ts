import { expect, test } from 'vitest'
import {
  findToolCall,
  finishToolCall,
  insertToolCalls,
  listOpenToolCalls,
  startToolCall,
} from '../../../src/store/calls/tool-calls.js'
import {
  findActivation,
  findOperation,
  finishOperation,
  insertOperation,
  takeOperation,
} from '../../../src/store/operations.js'
import type { OperationHold } from '../../../src/store/operations.js'
import type { Store } from '../../../src/store/store.js'
import { NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

const PLACE = { run: 2, step: 3, side: 'b', key: 'call_2_3_0', number: null } as const
const OPERATION = {
  thread_id: 't',
  id: 'o',
  kind: 'model',
  ...PLACE,
  state: 'started',
  started_at: NOW,
} as const

const take = (store: Store, attempt: number, state: OperationHold['state'] = 'started') =>
  store.write((tx) => takeOperation(tx, { threadId: 't', id: 'o', attempt, state }))

const finish = (store: Store, attempt: number, answer: unknown) =>
  store.write((tx) => finishOperation(tx, { threadId: 't', id: 'o', attempt, answer, now: NOW + 1 }))

const toolCall = (id: string, run: number, step: number, index: number) => ({
  thread_id: 't',
  id,
  message_id: 'm',
  run,
  step,
  call_index: index,
  side: 'a' as const,
  name: 'lookup',
  provider_call_id: `p-${id}`,
  arguments: '{"broken',
})

export function operationConformance(withStore: WithStore): void {
  test(
    'T4: an operation is inserted once',
    withStore(async (store) => {
      const insert = (attempt: number) =>
        store.write((tx) => insertOperation(tx, { ...OPERATION, attempt, detail: { model: 'chat' } }))
      expect(await store.read((db) => findOperation(db, 't', 'o'))).toBeNull()
      expect(await insert(1)).toBe(true)
      expect(await insert(2)).toBe(false)
      expect(await store.read((db) => findOperation(db, 't', 'o'))).toEqual({
        ...OPERATION,
        attempt: 1,
        detail: { model: 'chat' },
        answer: null,
        message_id: null,
        scheduled_at: null,
        finished_at: null,
      })
    }),
  )

  test(
    'an activation is found by the id that the workflow has for it',
    withStore(async (store) => {
      const row = { ...OPERATION, kind: 'activation', attempt: 1 }
      await store.write(async (tx) => {
        await insertOperation(tx, { ...row, id: 'of-agent-one', key: 'activation_2_3' })
        await insertOperation(tx, { ...row, id: 'of-agent-two', key: 'activation_2_3', started_at: NOW + 1 })
        await insertOperation(tx, { ...row, id: 'later', key: 'activation_2_3n1' })
        await insertOperation(tx, { ...OPERATION, attempt: 1, key: 'activation_2_4' })
      })
      const found = async (key: string) => (await store.read((db) => findActivation(db, 't', key)))?.id
      expect(await found('activation_2_3')).toBe('of-agent-two')
      expect(await found('activation_2_3n1')).toBe('later')
      expect(await found('activation_2_4')).toBeUndefined()
    }),
  )

  test(
    'T4: a late first attempt cannot finish what the second holds',
    withStore(async (store) => {
      await store.write((tx) => insertOperation(tx, { ...OPERATION, attempt: 1, state: 'drained' }))
      expect(await take(store, 1)).toBe(true)
      expect(await take(store, 2)).toBe(true)
      expect(await take(store, 1)).toBe(false)
      expect(await finish(store, 1, 'late')).toBe(false)
      expect(await finish(store, 2, { kind: 'answer' })).toBe(true)
      expect(await finish(store, 2, 'again')).toBe(false)
      expect(await take(store, 3)).toBe(false)
      const found = await store.read((db) => findOperation(db, 't', 'o'))
      expect(found).toMatchObject({ state: 'finished', attempt: 2, answer: { kind: 'answer' } })
      expect(found?.finished_at).toBe(NOW + 1)
    }),
  )

  test(
    'finishing keeps the detail unless one is given',
    withStore(async (store) => {
      await store.write((tx) => insertOperation(tx, { ...OPERATION, attempt: 1, detail: { model: 'x' } }))
      await finish(store, 1, null)
      expect((await store.read((db) => findOperation(db, 't', 'o')))?.detail).toEqual({ model: 'x' })
      await store.write((tx) => insertOperation(tx, { ...OPERATION, id: 'p', attempt: 1 }))
      const end = { threadId: 't', id: 'p', attempt: 1, answer: 1, detail: { usage: 2 }, now: NOW }
      await store.write((tx) => finishOperation(tx, end))
      expect((await store.read((db) => findOperation(db, 't', 'p')))?.detail).toEqual({ usage: 2 })
    }),
  )

  test(
    'open calls come in the order of their steps',
    withStore(async (store) => {
      const calls = [toolCall('c', 2, 1, 0), toolCall('b', 1, 10, 1), toolCall('a', 1, 10, 0)]
      await store.write((tx) => insertToolCalls(tx, calls))
      await store.write((tx) => insertToolCalls(tx, []))
      const open = async (run?: number) =>
        (await store.read((db) => listOpenToolCalls(db, 't', run))).map((call) => call.id)
      expect(await open()).toEqual(['a', 'b', 'c'])
      expect(await open(1)).toEqual(['a', 'b'])
      const end = { threadId: 't', callId: 'a', status: 'cancelled', now: NOW } as const
      await store.write((tx) => finishToolCall(tx, end))
      expect(await open()).toEqual(['b', 'c'])
    }),
  )

  test(
    'T4: a call gets one outcome',
    withStore(async (store) => {
      await store.write((tx) => insertToolCalls(tx, [toolCall('a', 1, 1, 0)]))
      const decision = { decision: 'allowed', source: 'default' } as const
      await store.write((tx) => startToolCall(tx, { threadId: 't', callId: 'a', now: NOW, decision }))
      await store.write((tx) =>
        startToolCall(tx, { threadId: 't', callId: 'a', now: NOW + 9, decision: null }),
      )
      const session = { kind: 'stop' as const, message: 'done', attachments: [] }
      const failure = { category: 'transient', isRetryable: true, attempts: 2, recovery: 'retry' } as const
      const end = { threadId: 't', callId: 'a', resultMessageId: 'r', session, failure, now: NOW + 1 }
      const finishAs = (status: 'succeeded' | 'interrupted') =>
        store.write((tx) => finishToolCall(tx, { ...end, status }))
      expect(await finishAs('succeeded')).toBe(true)
      expect(await finishAs('interrupted')).toBe(false)
      expect(await store.read((db) => findToolCall(db, 't', 'a'))).toEqual({
        ...toolCall('a', 1, 1, 0),
        parent_call_id: null,
        status: 'succeeded',
        error_code: null,
        result_message_id: 'r',
        session,
        failure,
        decision,
        started_at: NOW,
        finished_at: NOW + 1,
      })
      expect(await store.read((db) => findToolCall(db, 'other', 'a'))).toBeNull()
    }),
  )
}
