import { expect, test } from 'vitest'
import { waitingItems } from '../../../src/store/calls/request-lists.js'
import { insertRequest } from '../../../src/store/calls/requests.js'
import { findToolCall, insertToolCalls } from '../../../src/store/calls/tool-calls.js'
import { fact } from '../../../src/protocol/facts.js'
import { appendEvents, lastSequence, readEvents } from '../../../src/store/events.js'
import { appendMessage } from '../../../src/store/messages/delivery.js'
import { stageMessage } from '../../../src/store/messages/message-writes.js'
import { stageQueuedTool } from '../../../src/store/messages/queued-tools.js'
import {
  findOperation,
  finishOperation,
  highestNumbers,
  insertOperation,
} from '../../../src/store/operations.js'
import { endLostRun, readReopened } from '../../../src/store/reopen/reopened-thread.js'
import type { Store, Writer } from '../../../src/store/store.js'
import { insertChild } from '../../../src/store/threads/children.js'
import { insertEffect } from '../../../src/store/threads/effects.js'
import { findRun, insertRun, updateRun } from '../../../src/store/threads/runs.js'
import { findThread, insertThread, updateThread } from '../../../src/store/threads/threads.js'
import { makeThread, NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

const THREAD = 'lost'

export function reopenConformance(withStore: WithStore): void {
  test(
    'T4 what was in flight has an end, and no late commit',
    withStore(async (store) => {
      await midCall(store)
      expect(await cut(store)).toBe('cut')
      const call = await store.read((db) => findToolCall(db, THREAD, 'call_3_1_0'))
      expect(call).toMatchObject({ status: 'interrupted', result_message_id: expect.any(String) })
      const late = { threadId: THREAD, id: 'call_3_1_0', attempt: 1, answer: {}, now: NOW }
      expect(await store.write((tx) => finishOperation(tx, late))).toBe(false)
      const run = await store.read((db) => findRun(db, { threadId: THREAD, number: 3 }))
      expect(run).toMatchObject({ ended_at: NOW, reason: 'lost', outcome: 'failed' })
      expect(await cut(store)).toBe('idle')
      expect(await eventTypes(store)).toEqual(expect.arrayContaining(['tool.result', 'run.failed']))
      expect((await eventTypes(store)).filter((type) => type === 'thread.reopened')).toHaveLength(1)
    }),
  )

  test(
    'a second reopening goes on where the first one was cut',
    withStore(async (store) => {
      await midCall(store)
      expect(await cut(store)).toBe('cut')
      const first = await state(store)
      expect(first).toMatchObject({ side: 'a' })
      const settled = { run: 3, agent: 'support', activated: [] }
      await store.write((tx) => updateThread(tx, THREAD, { settled: { ...settled, side: 'a' } }))
      expect(await cut(store)).toBe('idle')
      expect(await state(store, false)).toEqual(first)
      // Its workflow was started, and stopped before it had a run.
      await store.write((tx) => updateThread(tx, THREAD, { settled, status: 'stopped' }))
      const stopped = await state(store, false)
      expect([stopped.side, stopped.stopped]).toEqual([undefined, true])
    }),
  )

  test(
    'a thread that changed meanwhile is not touched',
    withStore(async (store) => {
      await midCall(store)
      const sequence = await store.read((db) => lastSequence(db, THREAD))
      const events = [fact('custom', { name: 'note', data: null })]
      await store.write((tx) => appendEvents(tx, { threadId: THREAD, events, now: NOW }))
      expect(await store.write((tx) => endLostRun(tx, { threadId: THREAD, sequence, now: NOW }))).toBe('busy')
      expect(await store.read((db) => findToolCall(db, THREAD, 'call_3_1_0'))).toMatchObject({
        status: 'open',
      })
    }),
  )

  test(
    'an effect that was cut is done from its beginning',
    withStore(async (store) => {
      await makeThread(store, THREAD)
      await store.write(async (tx) => {
        const effect = { thread_id: THREAD, id: 'e', name: 'note', args: {}, due_at: NOW, created_at: NOW }
        await insertEffect(tx, effect)
        await operation(tx, { id: 'e', kind: 'effect', state: 'started' })
      })
      await cut(store)
      expect(await store.read((db) => findOperation(db, THREAD, 'e'))).toBeNull()
      expect(await state(store, false)).toMatchObject({ effects: [['e', Math.floor(NOW / 1000)]] })
    }),
  )

  test(
    'T4 numbers go on behind all that are in use',
    withStore(async (store) => {
      await midCall(store)
      await store.write(async (tx) => {
        await operation(tx, { id: 'settle_2', kind: 'settle', number: 2 })
        await operation(tx, { id: 'settle_4', kind: 'settle', number: 4 })
        // Nothing came of it, so that there is no row of a run.
        await operation(tx, { id: 'model_5_1', kind: 'model', run: 5, step: 1 })
        const item = { id: 'row', threadId: THREAD, role: 'user', content: 'x', createdAt: NOW } as const
        await stageMessage(tx, { ...item, sentBy: 'cli', digest: 'item:everthread:item:12' })
      })
      await cut(store)
      const highest = await state(store)
      expect(highest).toMatchObject({ runs: 5, settles: 4, reports: 0, side: 'a' })
      expect(highest.items).toBeGreaterThan(12)
      const numbers = await store.read((db) => highestNumbers(db, THREAD))
      expect(numbers).toEqual({ runs: 5, settles: 4, reports: 0 })
    }),
  )

  test(
    'the side whose turn it is follows from the last row',
    withStore(async (store) => {
      await makeThread(store, THREAD)
      await run(store, 1)
      const say = (id: string, row: object) =>
        store.write((tx) =>
          appendMessage(tx, {
            ...{ id, threadId: THREAD, role: 'user', content: 'x', createdAt: NOW, sentBy: 'client' },
            ...row,
          }),
        )
      const side = async () => (await state(store)).side
      expect(await side()).toBe('a')
      await say('1', { role: 'assistant' })
      expect(await side()).toBe('b')
      await say('2', { role: 'user', sentBy: 'model', side: 'b' })
      expect(await side()).toBe('a')
      await say('3', { role: 'assistant', sentBy: 'model', side: 'a', toolCalls: [] })
      expect(await side()).toBe('a')
      await say('4', { role: 'tool', sentBy: 'tool', side: 'b' })
      expect(await side()).toBe('b')
    }),
  )

  test(
    'an agent that was handed to before its first step has it',
    withStore(async (store) => {
      await makeThread(store, THREAD)
      await run(store, 1)
      const agent = async () => {
        const { agent, activated } = await state(store)
        return [agent, ...activated]
      }
      const commit = (step: number, row: { id: string; kind: string; [column: string]: unknown }) =>
        store.write((tx) => operation(tx, { run: 1, step, side: 'a', ...row }))
      expect(await agent()).toEqual(['support'])
      await commit(1, { id: 'model_1_1', kind: 'model', answer: { type: 'answered' } })
      expect(await agent()).toEqual(['support', 'a'])
      const to = (name: string) => ({ type: 'result', operations: [{ kind: 'hand_off', agent: name }] })
      await commit(1, { id: 'call_1_1_0', kind: 'tool', answer: to('boss'), finished_at: NOW })
      await commit(1, { id: 'call_1_1_1', kind: 'tool', answer: to('clerk'), finished_at: NOW + 1 })
      expect(await agent()).toEqual(['boss'])
      // Its prompt is active, and so is that of another side's first step; a nested step and a cut one make none active.
      await commit(2, { id: 'act', kind: 'activation', key: 'k', answer: { type: 'activates' } })
      await commit(2, { id: 'model_1_2', kind: 'model', side: 'b', answer: { type: 'end' } })
      await commit(2, { id: 'nested', kind: 'model', side: 'b', key: 'call', answer: { type: 'answered' } })
      expect(await agent()).toEqual(['boss', 'a'])
      await commit(3, { id: 'model_1_3', kind: 'model', side: 'b', answer: { type: 'answered' } })
      expect(await agent()).toEqual(['boss', 'a', 'b'])
    }),
  )

  test(
    'what a settle recorded holds, with what was committed since',
    withStore(async (store) => {
      await makeThread(store, THREAD)
      await run(store, 2)
      const old = { type: 'result', operations: [{ kind: 'hand_off', agent: 'boss' }] }
      await store.write(async (tx) => {
        await operation(tx, { id: 'call_1_1_0', kind: 'tool', run: 1, step: 1, answer: old })
        await updateThread(tx, THREAD, { settled: { run: 1, agent: 'clerk', activated: ['b'] } })
      })
      expect(await state(store)).toMatchObject({ agent: 'clerk', activated: ['b'] })
      const answer = { type: 'interrupted' }
      const row = { id: 'model_2_1', kind: 'model', run: 2, step: 1, side: 'a', answer }
      await store.write((tx) => operation(tx, row))
      expect(await state(store)).toMatchObject({ agent: 'clerk', activated: ['b', 'a'] })
    }),
  )

  test(
    'what a parked thread waits for is known',
    withStore(async (store) => {
      await makeThread(store, THREAD)
      await run(store, 1)
      await store.write(async (tx) => {
        await updateRun(tx, { threadId: THREAD, number: 1 }, { ended_at: NOW, reason: 'blocked', steps: 2 })
        await updateThread(tx, THREAD, { status: 'blocked' })
        await insertRequest(tx, { thread_id: THREAD, id: 'vars', kind: 'variables', requested_at: NOW })
      })
      expect(await state(store, false)).toMatchObject({
        stopped: true,
        request: { id: 'vars' },
        lastRun: { runId: 'run_1', reason: 'blocked', steps: 2 },
      })
    }),
  )

  test(
    'T7 a parent knows which calls its children owe',
    withStore(async (store) => {
      await family(store)
      expect(await state(store, false)).toMatchObject({
        children: 3,
        open: [{ reference: 'child', resumable: true, invocations: ['call_2_1_0'], reports: 1 }],
        deferred: [
          { requestId: 'q', child: { reference: 'waits', messageId: 'waits-first' }, supplied: false },
        ],
      })
    }),
  )

  test(
    'T7 a child knows which calls it has taken and not answered',
    withStore(async (store) => {
      await family(store)
      const child = await store.read((db) => findThread(db, 'child'))
      if (child === null) throw new Error('Expected the row of the child.')
      const read = () => store.read((db) => readReopened(db, child, { cut: false, now: NOW }))
      // Its second message waits: the signal brings the call.
      expect(await read()).toMatchObject({
        reports: 1,
        invocations: [],
        report: { report: 1, messageId: 'told' },
      })
      const items = await store.read((db) => waitingItems(db, child))
      expect(items).toMatchObject([
        { message: { messageId: 'second', from: 'parent', invocation: 'call_2_1_0' } },
      ])
      await store.write((tx) =>
        tx
          .updateTable('messages')
          .set({ position: 2, status: 'completed' })
          .where('id', '=', 'second')
          .execute(),
      )
      expect(await read()).toMatchObject({ invocations: ['call_2_1_0'] })
      await store.write((tx) =>
        tx.updateTable('children').set({ closed_at: NOW }).where('reference', '=', 'child').execute(),
      )
      expect(await read()).toMatchObject({ invocations: [] })
    }),
  )

  test(
    'T3 what waits is told in its order, each by its signal',
    withStore(async (store) => {
      await makeThread(store, THREAD)
      await store.write(async (tx) => {
        const row = { threadId: THREAD, content: 'x', digest: '' }
        await stageMessage(tx, { ...row, id: '1', role: 'user', createdAt: NOW, sentBy: 'client' })
        const tool = { threadId: THREAD, toolCallId: 'queued_t', name: 'work', args: {} }
        await stageQueuedTool(tx, { ...tool, sentBy: 'client', now: NOW + 1 })
        await stageMessage(tx, { ...row, id: '2', role: 'assistant', createdAt: NOW + 2, sentBy: 'tool' })
      })
      const thread = { id: THREAD, parent_thread_id: null, parent_call_id: null }
      expect(await store.read((db) => waitingItems(db, thread))).toMatchObject([
        { kind: 'message', message: { messageId: '1', role: 'user' } },
        { kind: 'tool', tool: { toolCallId: 'queued_t', name: 'work' } },
        { kind: 'message', message: { messageId: '2', role: 'assistant', from: 'tool' } },
      ])
    }),
  )
}

async function operation(
  tx: Writer,
  row: { id: string; kind: string; [column: string]: unknown },
): Promise<void> {
  const common = { thread_id: THREAD, state: 'finished', attempt: 1, started_at: NOW } as const
  await insertOperation(tx, { ...common, ...row })
}

async function run(store: Store, number: number): Promise<void> {
  const row = { thread_id: THREAD, number, trigger_kind: 'message', started_at: NOW }
  await store.write((tx) => insertRun(tx, row))
}

/** A tool is at work in the first step of the third run. */
async function midCall(store: Store): Promise<void> {
  await makeThread(store, THREAD)
  await run(store, 3)
  await store.write(async (tx) => {
    const call = { id: 'call_3_1_0', type: 'function', function: { name: 'work', arguments: '{}' } } as const
    await appendMessage(tx, {
      ...{ id: 'asks', threadId: THREAD, role: 'assistant', content: null, createdAt: NOW, sentBy: 'model' },
      ...{ side: 'a', toolCalls: [call], run: 3, step: 1 },
    })
    await insertToolCalls(tx, [
      {
        ...{ thread_id: THREAD, id: 'call_3_1_0', message_id: 'asks', run: 3, step: 1, call_index: 0 },
        ...{ side: 'a', name: 'work', provider_call_id: 'p', arguments: '{}' },
      },
    ])
    await operation(tx, { id: 'model_3_1', kind: 'model', run: 3, step: 1 })
    await operation(tx, { id: 'call_3_1_0', kind: 'tool', state: 'started' })
  })
}

async function cut(store: Store): Promise<string> {
  const sequence = await store.read((db) => lastSequence(db, THREAD))
  return store.write((tx) => endLostRun(tx, { threadId: THREAD, sequence, now: NOW }))
}

async function state(store: Store, wasCut = true) {
  const thread = await store.read((db) => findThread(db, THREAD))
  if (thread === null) throw new Error('Expected the row of the thread.')
  return store.read((db) => readReopened(db, thread, { cut: wasCut, now: NOW }))
}

async function eventTypes(store: Store): Promise<readonly string[]> {
  const events = await store.read((db) => readEvents(db, { threadId: THREAD, after: 0, limit: 100 }))
  return events.map(({ type }) => type)
}

/** One child has answered its first call and was written to again, one waits for variables, one is closed. */
async function family(store: Store): Promise<void> {
  await makeThread(store, THREAD)
  await store.write(async (tx) => {
    for (const [id, status, closed] of [
      ['child', 'running', null],
      ['waits', 'deferred', null],
      ['gone', 'completed', NOW],
    ] as const) {
      const of = { agent: 'helper', created_at: NOW }
      await insertThread(tx, { ...of, id, parent_thread_id: THREAD, parent_call_id: 'call_1_1_0' })
      await insertChild(tx, {
        ...{ ...of, parent_thread_id: THREAD, reference: id, call_id: 'call_1_1_0', name: 'helper', status },
        ...{
          description: '',
          resumable: true,
          blocking: false,
          closed_at: closed,
          message_id: `${id}-first`,
        },
      })
      const first = { id: `${id}-first`, threadId: id, role: 'user', content: 'x', digest: '' } as const
      await stageMessage(tx, { ...first, createdAt: NOW, sentBy: 'parent' })
    }
    await tx
      .updateTable('messages')
      .set({ position: 1, status: 'completed' })
      .where('id', '=', 'child-first')
      .execute()
    const second = { id: 'second', threadId: 'child', role: 'user', content: 'x', digest: '' } as const
    await stageMessage(tx, { ...second, createdAt: NOW + 1, sentBy: 'parent' })
    const wrote = { type: 'message', reference: 'child', messageId: 'second', role: 'user', blocking: false }
    await operation(tx, { id: 'call_2_1_0', kind: 'tool', key: 'child', answer: wrote })
    const delivered = { type: 'delivered', kind: 'result', messageId: 'told' }
    const detail = { invocations: ['call_1_1_0'], closes: false }
    await insertOperation(tx, {
      ...{ thread_id: 'child', id: 'report_1', kind: 'report', number: 1, state: 'finished', attempt: 1 },
      ...{ started_at: NOW, answer: delivered, detail },
    })
    const asks = { detail: { child: 'waits' }, requested_at: NOW }
    await insertRequest(tx, { thread_id: THREAD, id: 'q', kind: 'variables', ...asks })
  })
}
