import { describe, expect, test } from 'vitest'
import { executeTool } from '../../src/activities/tool/execute-tool.js'
import { defineHook } from '../../src/index.js'
import type { ThreadState } from '../../src/index.js'
import type { ExecuteToolInput } from '../../src/protocol/activities.js'
import type { SettleAnswer } from '../../src/protocol/end-activities.js'
import { fact } from '../../src/protocol/facts.js'
import { activationId } from '../../src/protocol/ids.js'
import { LIMITS } from '../../src/protocol/limits.js'
import { listOpenToolCalls } from '../../src/store/calls/tool-calls.js'
import { appendDelta, readDeltas } from '../../src/store/messages/deltas.js'
import { stageMessage } from '../../src/store/messages/message-writes.js'
import { findMessage } from '../../src/store/messages/transcript.js'
import { findOperation, insertOperation } from '../../src/store/operations.js'
import { findRun } from '../../src/store/threads/runs.js'
import { findThread, insertThread, requestTermination } from '../../src/store/threads/threads.js'
import { scriptedModel } from '../../src/testing/index.js'
import { createGate } from '../support/gate.js'
import { until } from '../support/until.js'
import {
  attempt,
  drainOf,
  failingStore,
  failureOf,
  modelInput,
  NOW,
  runModel,
  withDesk,
} from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { addChild, registered } from './family.js'
import { CLOSE, END, runSettle, settleInput, USAGE } from './settle-desk.js'

const results = async (desk: ActivityDesk) =>
  (await desk.transcript()).filter(({ role }) => role === 'tool').map(({ content }) => content)
const types = async (desk: ActivityDesk) => (await desk.events()).map(({ type }) => type)
const thread = (desk: ActivityDesk, id = 't') => desk.store.read((db) => findThread(db, id))

describe('the end of a run', () => {
  test('outcome, usage and snapshot are recorded', () =>
    withDesk({}, async (desk) => {
      await runSettle(desk, settleInput({ facts: [fact('queue.changed', { waiting: 0 })] }))
      expect(await desk.store.read((db) => findRun(db, { threadId: 't', number: 1 }))).toMatchObject({
        reason: 'stopped',
        outcome: 'cancelled',
        steps: 1,
        usage: USAGE,
        ended_at: (NOW + 5) * 1000,
      })
      expect(await thread(desk)).toMatchObject({
        status: 'idle',
        closed_at: null,
        snapshot: { agent: 'clerk' },
        snapshot_at: (NOW + 5) * 1000,
      })
      expect(await types(desk)).toEqual(['run.started', 'queue.changed', 'run.cancelled'])
    }))

  test('a run that ends before its first step has begun', () =>
    withDesk({}, async (desk) => {
      await runSettle(desk, settleInput({ end: { ...END, reason: 'terminated', steps: 0 }, close: CLOSE }))
      expect(await types(desk)).toEqual(['run.started', 'run.cancelled', 'thread.closed'])
    }))

  test('a run that ends before it has a row begins first, by what began it', () =>
    withDesk({}, async (desk) => {
      const end = { ...END, reason: 'repeated_tool_error', trigger: 'tool' } as const
      await runSettle(desk, settleInput({ end }))
      expect(await types(desk)).toEqual(['run.started', 'message.created', 'run.cancelled'])
      expect((await desk.events())[0]).toMatchObject({ payload: { trigger: 'tool' } })
      expect(await desk.store.read((db) => findRun(db, { threadId: 't', number: 1 }))).toMatchObject({
        trigger_kind: 'tool',
      })
    }))

  test('a run that has worked begins once', () =>
    withDesk({}, async (desk) => {
      await desk.calls([{ name: 'work' }])
      await runSettle(desk, settleInput())
      expect((await types(desk)).filter((type) => type === 'run.started')).toHaveLength(1)
    }))

  test('T7 an idle child that is gone is closed in the registry, with its event', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      await runSettle(desk, settleInput({ end: null, closed: [{ reference: 'c', status: 'terminated' }] }))
      const closedAt = (NOW + 5) * 1000
      expect(await registered(desk.store)).toMatchObject({ status: 'terminated', closed_at: closedAt })
      expect(await types(desk)).toEqual(['subagent.closed'])
    }))

  test('T4 a settle that comes twice happens once', () =>
    withDesk({}, async (desk) => {
      await desk.calls([{ name: 'work' }])
      await runSettle(desk, settleInput())
      const [events, transcript] = [await desk.events(), await desk.transcript()]
      expect(await runSettle(desk, settleInput())).toEqual({ type: 'settled' })
      expect([await desk.events(), await desk.transcript()]).toEqual([events, transcript])
    }))

  test('T7 what came before it was asked for again is stored then', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      const cut = fact('side.completed', { side: 'a', reason: null })
      await runSettle(desk, settleInput({ facts: [cut] }))
      const warning = fact('runtime.warning', { code: 'signal_unknown' })
      const again = { facts: [cut, warning], closed: [{ reference: 'c', status: 'terminated' }] }
      await runSettle(desk, settleInput(again))
      await runSettle(desk, settleInput(again))
      expect((await types(desk)).slice(-3)).toEqual(['run.cancelled', 'runtime.warning', 'subagent.closed'])
      expect(await registered(desk.store)).toMatchObject({ status: 'terminated' })
    }))

  test('T9 after a reset a call that was heard is not told again', () =>
    withDesk({}, async (desk) => {
      const operations = [{ kind: 'queue_message', id: 'm', role: 'user' }]
      const finished = { state: 'finished', attempt: 1, answer: { type: 'result', operations } } as const
      await desk.store.write((tx) =>
        insertOperation(tx, { thread_id: 't', id: 'c', kind: 'tool', started_at: 1, ...finished }),
      )
      const answer = await runSettle(desk, settleInput({ unacknowledged: ['c'] }))
      expect(answer).toEqual({ type: 'settled', operations })
      expect(await runSettle(desk, settleInput())).toEqual({ type: 'settled' })
    }))

  test('T9 what was committed without being heard is told, but not a tool of the step', () => {
    const work = async (state: ThreadState) => {
      await state.queueMessage({ role: 'user', content: 'more' })
      state.queueTool('again', { task: 'x' })
      return { status: 'success' } as const
    }
    return withDesk({ work }, async (desk) => {
      const [input] = await desk.calls([{ name: 'work' }])
      if (input === undefined) throw new Error('Expected a call.')
      await attempt().run((given: ExecuteToolInput) => executeTool(desk.dependencies, given), input)
      const unacknowledged = [input.callId, 'never_begun']
      const answer = await runSettle(desk, settleInput({ unacknowledged }))
      expect(answer).toMatchObject({ operations: [{ kind: 'queue_message', role: 'user' }] })
      expect(await runSettle(desk, settleInput({ unacknowledged }))).toEqual(answer)
    })
  })

  test('T9 what hooks did with a drain is told, though its model call died', () => {
    const gate = createGate()
    const chat = scriptedModel([
      async () => {
        await gate.passed
        return { text: 'late' }
      },
    ])
    const note = defineHook({
      hook: 'after_create_message',
      id: 'note',
      execute: (state) => state.queueMessage({ role: 'user', content: 'more' }),
    })
    return withDesk({ chat, hooks: [note] }, async (desk) => {
      const late = runModel(desk.dependencies, modelInput({ drain: drainOf(await desk.send('one')) }))
      await until('the request', () => chat.requests.length === 1)
      const answer = await runSettle(desk, settleInput({ unacknowledged: ['model_1_1'] }))
      gate.open()
      await late
      expect(answer).toMatchObject({ operations: [{ kind: 'queue_message', role: 'user' }] })
    })
  })

  test('T9 what came before a step is told, of the right activation', () =>
    withDesk({}, async (desk) => {
      const note = (id: string) => ({ kind: 'queue_message', id, role: 'user' }) as const
      const row = { thread_id: 't', kind: 'activation', attempt: 1, started_at: 1 } as const
      await desk.store.write(async (tx) => {
        const id = 'model_1_1_immediate_1_1_a01234567'
        const heard = { type: 'activates', operations: [note('heard')] }
        const key = activationId({ run: 1, step: 1 }, undefined)
        await insertOperation(tx, { ...row, id, key, state: 'finished', answer: heard })
        const detail = { operations: [note('m')] }
        const second = { id: `${id}n1`, key: activationId({ run: 1, step: 1 }, 1) }
        await insertOperation(tx, { ...row, ...second, state: 'drained', detail })
      })
      const input = settleInput({ unacknowledged: [activationId({ run: 1, step: 1 }, 1), 'model_1_1'] })
      expect(await runSettle(desk, input)).toMatchObject({ operations: [note('m')] })
    }))

  test('T8 the operations of unacknowledged calls fit into an answer', () =>
    withDesk({}, async (desk) => {
      const operations = Array.from({ length: 1000 }, (_, index) => {
        return { kind: 'remove_queued', id: `${index}`.padStart(80, 'x') } as const
      })
      const finished = { state: 'finished', attempt: 1, answer: { type: 'result', operations } } as const
      await desk.store.write((tx) =>
        insertOperation(tx, { thread_id: 't', id: 'c', kind: 'tool', started_at: 1, ...finished }),
      )
      const answer = (await runSettle(desk, settleInput({ unacknowledged: ['c'] }))) as SettleAnswer
      const told = answer.operations?.length ?? 0
      expect(JSON.stringify(answer).length).toBeLessThan(LIMITS.activityResultBytes)
      expect(answer.operations).toEqual(operations.slice(0, told))
      const warning = fact('runtime.warning', { code: 'operations_dropped', count: 1000 - told })
      expect((await desk.events()).at(-1)).toMatchObject(warning)
    }))

  test('T8 a thread that is to end hears so, each time', () =>
    withDesk({}, async (desk) => {
      await desk.store.write((tx) => requestTermination(tx, { threadId: 't', reason: null, now: NOW }))
      for (const _time of ['first', 'again'])
        expect(await runSettle(desk, settleInput())).toEqual({ type: 'settled', terminated: true })
      expect(await runSettle(desk, settleInput({ settle: 2, close: CLOSE }))).toEqual({ type: 'settled' })
    }))

  test('T8 every open call gets a result', () =>
    withDesk({}, async (desk) => {
      await desk.calls([{ name: 'work' }, { name: 'again' }])
      await runSettle(desk, settleInput())
      expect(await results(desk)).toEqual([
        expect.stringContaining('interrupted'),
        expect.stringContaining('interrupted'),
      ])
      expect(await desk.store.read((db) => listOpenToolCalls(db, 't'))).toEqual([])
    }))

  test('T4 a call that ends after the settle commits nothing', () => {
    const gate = createGate()
    let begun = false
    const work = async () => {
      begun = true
      await gate.passed
      return { status: 'success', result: 'late' } as const
    }
    return withDesk({ work }, async (desk) => {
      const [input] = await desk.calls([{ name: 'work' }])
      if (input === undefined) throw new Error('Expected a call.')
      const late = attempt().run((given: ExecuteToolInput) => executeTool(desk.dependencies, given), input)
      await until('the tool', () => begun)
      await runSettle(desk, settleInput())
      const transcript = await desk.transcript()
      gate.open()
      await late
      expect(await desk.transcript()).toEqual(transcript)
    })
  })

  test('K-2 a model call in flight loses its operation and its deltas', () => {
    const gate = createGate()
    const chat = scriptedModel([
      async () => {
        await gate.passed
        return { text: 'late' }
      },
    ])
    return withDesk({ chat }, async (desk) => {
      const late = runModel(desk.dependencies, modelInput({ drain: drainOf(await desk.send('one')) }))
      await until('the request', () => chat.requests.length === 1)
      const operation = await desk.store.read((db) => findOperation(db, 't', 'model_1_1'))
      const messageId = operation?.message_id ?? ''
      await desk.store.write((tx) =>
        appendDelta(tx, { threadId: 't', messageId, attempt: 1, kind: 'text', offset: 0, text: 'la' }),
      )
      await runSettle(desk, settleInput())
      expect(await desk.store.read((db) => readDeltas(db, 't'))).toEqual([])
      gate.open()
      await late
      expect((await desk.transcript()).map(({ content }) => content)).toEqual(['one'])
    })
  })

  test.each([
    ['repeated_tool_error', 'same tool error'],
    ['hard_cap', 'limit of steps or turns'],
    ['definition_missing', 'no worker has the agent "clerk"'],
    ['blocked', 'could not be carried out'],
  ])('SA-R-01.3 %s is said in the transcript', (reason, words) =>
    withDesk({}, async (desk) => {
      await runSettle(desk, settleInput({ end: { ...END, reason, outcome: 'failed' } }))
      const last = (await desk.transcript()).at(-1)
      expect(last).toMatchObject({ role: 'assistant', status: 'failed' })
      expect(last?.content).toContain(words)
    }),
  )

  test('E2 the end user reads the words of the worker', () =>
    withDesk({}, async (desk) => {
      const own = { dependencies: { ...desk.dependencies, failureText: 'Please call us.' } }
      await runSettle(own, settleInput({ end: { ...END, reason: 'hard_cap', outcome: 'failed' } }))
      expect((await desk.transcript()).at(-1)).toMatchObject({ content: 'Please call us.', status: 'failed' })
    }))

  test.each([
    ['timed_out', 'its work could not be carried out for a day.'],
    ['failed', 'its work was failed for good, by an operator or by a worker that cannot do it.'],
    ['no_answer', 'its work was completed from outside with something that is no answer of it.'],
  ] as const)('the transcript says why work that %s ended its run', (failure, words) =>
    withDesk({}, async (desk) => {
      const end = { ...END, reason: 'blocked', outcome: 'blocked', failure } as const
      await runSettle(desk, settleInput({ end }))
      expect((await desk.transcript()).at(-1)?.content).toBe(
        `The run was ended because ${words} Send a message to try again.`,
      )
    }),
  )

  test('the event of a missing agent names it', () =>
    withDesk({}, async (desk) => {
      await runSettle(desk, settleInput({ end: { ...END, reason: 'definition_missing', outcome: 'failed' } }))
      const ended = (await desk.events()).find(({ type }) => type === 'run.failed')
      expect(ended?.payload).toMatchObject({ error: 'no worker has the agent "clerk"' })
    }))

  test('a store that fails is tried again by another attempt', () =>
    withDesk({}, async (desk) => {
      const store = failingStore(desk.store, (write) => write === 1)
      const failing = { dependencies: { ...desk.dependencies, store } }
      expect((await failureOf(runSettle(failing, settleInput()))).message).toBe('The disk is full.')
      expect(await runSettle(failing, settleInput())).toEqual({ type: 'settled' })
    }))

  test('a thread without a row gets one', () =>
    withDesk({}, async (desk) => {
      const start = { agent: 'clerk', tags: ['x'] }
      await runSettle(
        desk,
        settleInput({ threadId: 'raw', start, snapshot: { ...settleInput().snapshot, threadId: 'raw' } }),
      )
      expect(await thread(desk, 'raw')).toMatchObject({ agent: 'clerk', tags: ['x'] })
    }))

  test('a thread whose row was deleted is settled without a trace', () =>
    withDesk({}, async (desk) => {
      expect(await runSettle(desk, settleInput({ threadId: 'gone' }))).toEqual({ type: 'settled' })
      expect(await thread(desk, 'gone')).toBeNull()
    }))
})

describe('T8 the end of a thread', () => {
  test('what waits is rejected, and nothing more is taken', () =>
    withDesk({}, async (desk) => {
      const ids = await desk.send('one', 'two')
      await runSettle(desk, settleInput({ close: CLOSE }))
      for (const id of ids)
        expect(await desk.store.read((db) => findMessage(db, 't', id))).toMatchObject({
          status: 'rejected',
          position: null,
        })
      const late = {
        id: 'late',
        threadId: 't',
        role: 'user',
        content: 'x',
        createdAt: 1,
        sentBy: 'client',
        digest: 'x',
      } as const
      expect(await desk.store.write((tx) => stageMessage(tx, late))).toBe('terminated')
      expect((await desk.events()).at(-1)).toMatchObject({
        type: 'thread.closed',
        payload: { outcome: 'terminated', rejected: 2 },
      })
    }))

  test('SA-R-10.1 a terminated thread has its time, another has not', () =>
    withDesk({}, async (desk) => {
      await runSettle(desk, settleInput({ close: CLOSE }))
      expect(await thread(desk)).toMatchObject({
        terminated_at: (NOW + 5) * 1000,
        terminate_requested_at: (NOW + 5) * 1000,
      })
      await desk.store.write((tx) => insertThread(tx, { id: 'u', agent: 'clerk', created_at: 1 }))
      await runSettle(
        desk,
        settleInput({ threadId: 'u', close: { outcome: 'completed', reason: 'session_stop' } }),
      )
      expect(await thread(desk, 'u')).toMatchObject({ terminated_at: null, closed_at: (NOW + 5) * 1000 })
    }))

  test('open calls are cancelled', () =>
    withDesk({}, async (desk) => {
      await desk.calls([{ name: 'work' }])
      await runSettle(desk, settleInput({ end: { ...END, reason: 'terminated' }, close: CLOSE }))
      expect(await results(desk)).toEqual([expect.stringContaining('cancelled')])
    }))

  test('children are marked, so that nothing of them runs', () =>
    withDesk({}, async (desk) => {
      await desk.store.write((tx) =>
        insertThread(tx, { id: 'k', agent: 'pair', created_at: 1, parent_thread_id: 't' }),
      )
      await runSettle(desk, settleInput({ close: CLOSE }))
      expect((await thread(desk, 'k'))?.terminate_requested_at).toBe((NOW + 5) * 1000)
    }))

  test('a late message is rejected by one more closing, told once', () =>
    withDesk({}, async (desk) => {
      await runSettle(desk, settleInput({ close: CLOSE }))
      const facts = [fact('queue.changed', { waiting: 1 })]
      await runSettle(desk, settleInput({ close: CLOSE, facts }))
      const again = settleInput({ settle: 2, end: null, close: CLOSE, facts })
      await runSettle(desk, again)
      await runSettle(desk, { ...again, facts: [...facts, ...facts] })
      expect((await types(desk)).filter((type) => type === 'thread.closed')).toHaveLength(1)
      expect((await types(desk)).at(-1)).toBe('thread.closed')
      expect((await thread(desk))?.closed_at).toBe((NOW + 5) * 1000)
    }))
})
