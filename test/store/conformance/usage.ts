import { expect, test } from 'vitest'
import { finishToolCall, insertToolCalls, startToolCall } from '../../../src/store/calls/tool-calls.js'
import { insertOperation } from '../../../src/store/operations.js'
import type { Store } from '../../../src/store/store.js'
import { insertRun } from '../../../src/store/threads/runs.js'
import { sumThreadUsage } from '../../../src/store/threads/thread-usage.js'
import { NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

const NO_TIMES = { count: 0, mean: null, p50: null, p95: null, max: null }

interface Asked {
  readonly model?: string
  readonly cost?: number | null
  readonly error?: string
  readonly took?: number
}

/** A request of 10 input, 5 output and 4 cached tokens. */
const asked = ({ model = 'chat', cost = 7, error, took }: Asked = {}) => ({
  model,
  prices: {},
  usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 4, cost },
  error: error ?? null,
  ...(took !== undefined && { took }),
})

let made = 0

/** An operation with these requests; `answer` null: it is under way. */
function operate(
  store: Store,
  requests: readonly unknown[] | null,
  { kind = 'model', answer = { type: 'answered' }, thread = 't', key = null as string | null } = {},
): Promise<boolean> {
  const detail = requests === null ? null : { plan: 'p', requests }
  const state = answer === null ? 'started' : 'finished'
  const row = {
    thread_id: thread,
    id: `o${(made += 1)}`,
    kind,
    key,
    state,
    attempt: 1,
    started_at: NOW,
  } as const
  return store.write((tx) => insertOperation(tx, { ...row, answer, detail }))
}

export function usageConformance(withStore: WithStore): void {
  test(
    'a thread that has done nothing has used nothing',
    withStore(async (store) => {
      expect(await store.read((db) => sumThreadUsage(db, ['t']))).toEqual({
        ...{ threads: 1, messages: 0, runs: 0, steps: 0, requests: 0, failedRequests: 0 },
        ...{ inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cost: 0, knownCost: 0 },
        ...{ toolCalls: 0, failedToolCalls: 0, answerTime: NO_TIMES, toolTime: NO_TIMES, models: [] },
      })
    }),
  )

  test(
    'requests of all kinds of operations are summed, also by model, and those of other threads are not',
    withStore(async (store) => {
      const failure = { ...asked({ error: 'overloaded', took: 9 }), usage: null }
      await operate(store, [failure, asked({ model: 'spare', took: 30 })])
      await operate(store, [asked({ took: 10 })], { key: 'call_1_1_0' })
      await operate(store, [asked({ took: 20 })], { kind: 'activation', answer: { type: 'activates' } })
      await operate(store, [asked({ took: 40 })], { kind: 'tool', answer: { type: 'result' } })
      await operate(store, null, { kind: 'tool', answer: { type: 'result' } })
      await operate(store, [asked()], { thread: 'other' })
      await store.write((tx) =>
        insertRun(tx, { thread_id: 't', number: 1, trigger_kind: 'message', started_at: 1 }),
      )
      const usage = await store.read((db) => sumThreadUsage(db, ['t']))
      expect(usage).toMatchObject({
        ...{ runs: 1, steps: 1, requests: 5, failedRequests: 1, cost: 28, knownCost: 28 },
        ...{ inputTokens: 40, outputTokens: 20, cachedInputTokens: 16 },
        answerTime: { count: 4, mean: 25, p50: 20, p95: 40, max: 40 },
        models: [
          {
            model: 'chat',
            requests: 4,
            failedRequests: 1,
            inputTokens: 30,
            cost: 21,
            answerTime: { max: 40 },
          },
          {
            model: 'spare',
            requests: 1,
            failedRequests: 0,
            inputTokens: 10,
            cost: 7,
            answerTime: { mean: 30 },
          },
        ],
      })
      expect(await store.read((db) => sumThreadUsage(db, ['t', 'other']))).toMatchObject({
        ...{ threads: 2, requests: 6, cost: 35, steps: 2 },
      })
    }),
  )

  test(
    'one unknown cost makes the sum unknown, and the known part stays known',
    withStore(async (store) => {
      await operate(store, [asked(), asked({ model: 'free', cost: null })])
      expect(await store.read((db) => sumThreadUsage(db, ['t']))).toMatchObject({
        ...{ cost: null, knownCost: 7 },
        models: [
          { model: 'chat', cost: 7 },
          { model: 'free', cost: null, knownCost: 0 },
        ],
      })
    }),
  )

  test(
    'a request under way has not failed; one that was under way at the end of its operation has',
    withStore(async (store) => {
      const open = { ...asked(), usage: null }
      await operate(store, [open], { answer: null as never })
      expect(await store.read((db) => sumThreadUsage(db, ['t']))).toMatchObject({
        requests: 1,
        failedRequests: 0,
      })
      await operate(store, [open], { answer: { type: 'interrupted' } })
      expect(await store.read((db) => sumThreadUsage(db, ['t']))).toMatchObject({
        ...{ requests: 2, failedRequests: 1, steps: 0, cost: 0 },
      })
    }),
  )

  test(
    'calls are counted with their ends, and their times from beginning to end',
    withStore(async (store) => {
      const row = { thread_id: 't', message_id: 'm', run: 1, step: 1, name: 'work', arguments: '{}' }
      const calls = ['a', 'b', 'c', 'd'].map((id, index) => ({
        ...row,
        ...{ id, call_index: index, side: 'a' as const, provider_call_id: id },
      }))
      await store.write((tx) => insertToolCalls(tx, calls))
      const end = (callId: string, status: 'succeeded' | 'failed' | 'denied', took: number | null) =>
        store.write(async (tx) => {
          if (took !== null) await startToolCall(tx, { threadId: 't', callId, now: NOW, decision: null })
          await finishToolCall(tx, { threadId: 't', callId, status, now: NOW + (took ?? 0) * 1000 })
        })
      await end('a', 'succeeded', 5)
      await end('b', 'failed', 15)
      await end('c', 'denied', null)
      expect(await store.read((db) => sumThreadUsage(db, ['t']))).toMatchObject({
        ...{ toolCalls: 4, failedToolCalls: 2, toolTime: { count: 2, mean: 10, p50: 5, p95: 15, max: 15 } },
      })
    }),
  )

  test(
    'a tree of more threads and operations than one statement reads is summed whole',
    withStore(async (store) => {
      const threads = Array.from({ length: 1001 }, (_none, index) => `t${index}`)
      await store.write(async (tx) => {
        for (const [index, thread] of threads.entries())
          for (let id = 0; id < (index === 0 ? 1200 : 1); id += 1)
            await insertOperation(tx, {
              ...{
                thread_id: thread,
                id: `o${id}`,
                kind: 'model',
                state: 'finished',
                attempt: 1,
                started_at: NOW,
              },
              ...{ answer: { type: 'answered' }, detail: { requests: [asked(), asked()] } },
            })
      })
      expect(await store.read((db) => sumThreadUsage(db, threads))).toMatchObject({
        ...{ threads: 1001, steps: 2200, requests: 4400, cost: 30_800 },
      })
      const [first] = threads
      expect(await store.read((db) => sumThreadUsage(db, [first ?? '']))).toMatchObject({ requests: 2400 })
    }),
  )
}
