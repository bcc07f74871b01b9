import { describe, expect, test } from 'vitest'
import { prepareChild } from '../../src/activities/subagents/prepare-child.js'
import type { ExecuteToolInput, PrepareChildInput } from '../../src/protocol/activities.js'
import { closeOpenCalls } from '../../src/store/calls/close-open-calls.js'
import { findToolCall, insertToolCalls } from '../../src/store/calls/tool-calls.js'
import { stageMessage } from '../../src/store/messages/message-writes.js'
import { removeQueuedItem } from '../../src/store/messages/queue.js'
import { placeQueuedTool } from '../../src/store/messages/queued-tools.js'
import { findMessage } from '../../src/store/messages/transcript.js'
import { scriptedModel } from '../../src/testing/index.js'
import { attempt, failureOf, NOW, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { lastResult } from './tool-outcomes.js'

/** What a client stages before it tells the workflow; answers the input of the call's turn. */
async function staged(desk: ActivityDesk, name: string, args: unknown = {}): Promise<ExecuteToolInput> {
  const made = await desk.call('work')
  await desk.store.write(async (tx) => {
    const entry = { id: 'q1', type: 'function', function: { name, arguments: JSON.stringify(args) } } as const
    await stageMessage(tx, {
      ...{ id: 'holder', threadId: 't', role: 'assistant', content: null, createdAt: NOW * 1000 },
      ...{ sentBy: 'client', digest: 'q1', toolCalls: [entry], metadata: { queued: true } },
    })
    await insertToolCalls(tx, [
      {
        ...{
          thread_id: 't',
          id: 'q1',
          message_id: 'holder',
          run: 0,
          step: 0,
          call_index: 0,
          side: 'a',
          name,
        },
        ...{ provider_call_id: '', arguments: JSON.stringify(args) },
      },
    ])
  })
  return {
    ...made,
    callId: 'q1',
    name,
    queued: true,
    promptPath: [],
    run: 2,
    step: 1,
    first: true,
    last: true,
  }
}

describe('a queued tool', () => {
  test('T3 gets its place when its turn comes', () =>
    withDesk({ work: () => ({ status: 'success', result: 'done' }) }, async (desk) => {
      const input = await staged(desk, 'work')
      expect(await desk.run(input)).toMatchObject({ outcome: 'succeeded' })
      const [holder, result] = (await desk.transcript()).slice(-2)
      expect(holder).toMatchObject({ id: 'holder', role: 'assistant', status: 'completed' })
      expect(result).toMatchObject({ role: 'tool', tool_call_id: 'q1', content: 'done' })
      expect(await desk.store.read((db) => findToolCall(db, 't', 'q1'))).toMatchObject({ run: 2, step: 1 })
    }))

  test('runs whatever the prompt lists', () =>
    withDesk({ work: (_state, args) => ({ status: 'success', result: args['n'] }) }, async (desk) => {
      expect(await desk.run(await staged(desk, 'loose', { n: 3 }))).toMatchObject({
        outcome: 'succeeded',
      })
      expect((await lastResult(desk))?.content).toBe('3')
    }))

  test('the same name is refused to a model', () =>
    withDesk({}, async (desk) => {
      expect(await desk.run(await desk.call('loose', { n: 3 }))).toMatchObject({ outcome: 'failed' })
      expect((await lastResult(desk))?.content).toContain('There is no tool "loose". The tools are: work')
    }))

  test('may need approval like any other', () =>
    withDesk({}, async (desk) => {
      const input = await staged(desk, 'pay', { amount: 70 })
      expect(await desk.run(input)).toMatchObject({ type: 'pending', requestId: 'approval_q1' })
      expect((await desk.transcript()).at(-1)).toMatchObject({ id: 'holder' })
      await desk.decide('approval_q1', { approved: true })
      const response = { requestId: 'approval_q1' }
      expect(await desk.run({ ...input, response })).toMatchObject({ outcome: 'succeeded' })
      expect((await desk.told('step.phase')).filter(({ phase }) => phase === 5)).toHaveLength(1)
    }))

  test('a prompt of the plan is left to the workflow', () =>
    withDesk({}, async (desk) => {
      const input = await staged(desk, 'digest', { text: 'x' })
      const kind = { type: 'kind', tool: { kind: 'prompt', prompt: 'digest' } }
      expect(await desk.run(input)).toEqual(kind)
      const events = await desk.events()
      expect(await desk.run(input)).toEqual(kind)
      expect(await desk.events()).toEqual(events)
      expect((await desk.transcript()).at(-1)).toMatchObject({ id: 'holder' })
    }))

  test('a prompt that no prompt reaches runs in place', () => {
    const chat = scriptedModel([{ text: 'Found.', toolCalls: [{ name: 'work', args: { task: 'dig' } }] }])
    return withDesk({ work: () => ({ status: 'success', result: 'gold' }) }, async (desk) => {
      const input = await staged(desk, 'hidden', { topic: 'mines' })
      const on = desk.with({ chat, work: () => ({ status: 'success', result: 'gold' }) })
      expect(await desk.run(input, on)).toMatchObject({
        outcome: 'succeeded',
        usage: { cost: expect.any(Number) as unknown },
      })
      expect((await lastResult(desk))?.content).toContain('Found.')
      expect(chat.requests[0]).toMatchObject({ prompt: 'hidden', system: 'You are hidden at Acme.' })
    })
  })

  test('an agent that talks to a person takes over', () =>
    withDesk({}, async (desk) => {
      expect(await desk.run(await staged(desk, 'broker'))).toMatchObject({
        outcome: 'succeeded',
        operations: [{ kind: 'hand_off', agent: 'broker' }],
      })
    }))

  test('two who talk to each other become a child', () =>
    withDesk({}, async (desk) => {
      const input = await staged(desk, 'panel', { question: 'Why?' })
      expect(await desk.run(input)).toEqual({
        type: 'kind',
        tool: { kind: 'subagent', agent: 'panel' },
      })
      const asked: PrepareChildInput = { ...input, children: 0, open: 0 }
      const child = await attempt().run(() => prepareChild(desk.dependencies, asked))
      expect(child).toMatchObject({ type: 'children', children: [{ agent: 'panel' }], blocking: true })
    }))

  test('a name that nobody has is waited for, as in a deploy', () =>
    withDesk({}, async (desk) => {
      expect(await failureOf(desk.run(await staged(desk, 'nothing')))).toMatchObject({
        type: 'Definition.Missing',
      })
    }))

  test('that left the queue and did not run ends with its run', () =>
    withDesk({}, async (desk) => {
      await staged(desk, 'work')
      const cut = { tools: ['q1'], run: 2, step: 0 }
      const closing = { threadId: 't', now: 1, outcome: 'interrupted', cut } as const
      await desk.store.write((tx) => closeOpenCalls(tx, closing))
      expect(await desk.store.read((db) => findToolCall(db, 't', 'q1'))).toMatchObject({
        ...{ status: 'interrupted', run: 2, step: 0 },
      })
      // The last one is the result of the call that the desk had made before.
      const [line, holder, result] = (await desk.transcript()).slice(-4)
      expect(line?.metadata).toMatchObject({ status_kind: 'runtime_tool_invocation' })
      expect(holder).toMatchObject({ id: 'holder', status: 'completed' })
      expect(result).toMatchObject({ role: 'tool', tool_call_id: 'q1', tool_status: 'error' })
    }))

  test('one that was taken back is answered, and stores nothing', () =>
    withDesk({}, async (desk) => {
      const input = await staged(desk, 'work')
      await desk.store.write((tx) => removeQueuedItem(tx, { threadId: 't', id: 'q1', now: 1 }))
      expect(await desk.run(input)).toEqual({ type: 'result', outcome: 'cancelled', storedNothing: true })
    }))

  test('T4 named again when it is over tells nothing a second time', () =>
    withDesk({}, async (desk) => {
      const input = await staged(desk, 'broker')
      const handedOff = { outcome: 'succeeded', operations: [{ kind: 'hand_off' }] }
      expect(await desk.run(input)).toMatchObject(handedOff)
      const events = await desk.events()
      const over = { type: 'result', outcome: 'succeeded', storedNothing: true }
      expect(await desk.run({ ...input, run: 3, step: 0 })).toEqual(over)
      expect(await desk.run({ ...input, step: 2 })).toEqual(over)
      // An attempt whose answer was lost, and one after a reset.
      expect(await desk.run({ ...input, now: NOW + 9 })).toMatchObject(handedOff)
      expect(await desk.events()).toEqual(events)
    }))

  test('T9 run by another step than the one that placed it keeps its operations for a retry', () =>
    withDesk({}, async (desk) => {
      const input = await staged(desk, 'broker')
      // What a hook queued in a step that came to nothing: its row has its place, and the next run takes it.
      await desk.store.write(async (tx) => {
        const row = await findToolCall(tx, 't', 'q1')
        if (row !== null) await placeQueuedTool(tx, row, { run: 1, step: 1, side: 'a', now: NOW * 1000 })
      })
      const answer = await desk.run(input)
      expect(answer).toMatchObject({ operations: [{ kind: 'hand_off' }] })
      expect(await desk.run(input)).toEqual(answer)
    }))

  test('T10 nothing stored under its id: the second naming stores no facts', () =>
    withDesk({}, async (desk) => {
      const input = { ...(await staged(desk, 'work')), callId: 'nobody' }
      const skipped = { type: 'result', outcome: 'failed' }
      expect(await desk.run(input)).toEqual(skipped)
      expect(await desk.run(input)).toEqual(skipped)
      expect(await desk.run({ ...input, run: 3 })).toEqual({ ...skipped, storedNothing: true })
      expect(await desk.told('runtime.warning')).toHaveLength(1)
    }))

  test('outlives the run in front of it, and not its thread', () =>
    withDesk({}, async (desk) => {
      await staged(desk, 'work')
      const close = (outcome: 'interrupted' | 'cancelled') =>
        desk.store.write((tx) => closeOpenCalls(tx, { threadId: 't', now: 1, outcome }))
      await close('interrupted')
      expect(await desk.store.read((db) => findToolCall(db, 't', 'q1'))).toMatchObject({ status: 'open' })
      await close('cancelled')
      expect(await desk.store.read((db) => findToolCall(db, 't', 'q1'))).toMatchObject({
        status: 'cancelled',
        result_message_id: null,
      })
      expect(await desk.store.read((db) => findMessage(db, 't', 'holder'))).toMatchObject({
        position: null,
      })
    }))
})
