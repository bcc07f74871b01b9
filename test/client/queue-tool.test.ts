import { describe, expect, test } from 'vitest'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { insertRun } from '../../src/store/threads/runs.js'
import { updateThread } from '../../src/store/threads/threads.js'
import { findVariables, openVariable } from '../../src/store/threads/variables.js'
import { recordedRuns, searchForContent } from '../support/histories.js'
import { MARKER } from '../support/marker.js'
import { createClientFixture, servedFixture } from './client-fixture.js'
import type { ClientFixture } from './client-fixture.js'
import { signalsOf } from './signals.js'

const fixture = servedFixture()

describe('a queued tool', () => {
  test('waits with its arguments in the store alone', async () => {
    const thread = await fixture.threads.create({ agent: 'support' })
    const { toolCallId } = await thread.queueTool('refund_order', { note: MARKER }, { id: 'refund-1' })
    expect(toolCallId).toBe('queued_refund-1')
    expect(await signalsOf(thread)).toEqual([
      ['queueTool', JSON.stringify({ toolCallId, name: 'refund_order' })],
    ])
    expect(await callOf(thread.threadId, toolCallId)).toMatchObject({
      name: 'refund_order',
      arguments: JSON.stringify({ note: MARKER }),
      status: 'open',
    })
    const { queue } = await thread.snapshot()
    expect(queue).toMatchObject([
      { id: toolCallId, kind: 'tool', preview: `refund_order {"note":"${MARKER}"}` },
    ])
    const runs = await recordedRuns(fixture.threads.temporal, thread.threadId)
    expect(searchForContent(runs).leaks).toEqual([])
  })

  test('is one call under one id, other arguments a conflict', async () => {
    const thread = await fixture.threads.create({ agent: 'support' })
    const queue = (args: Record<string, unknown>) => thread.queueTool('look', args, { id: 'a b/ü' })
    const { toolCallId } = await queue({ a: 1, b: 2 })
    expect(toolCallId).toMatch(/^queued_[\da-f]{32}$/)
    expect(await queue({ b: 2, a: 1 })).toEqual({ toolCallId })
    await expect(queue({ a: 2 })).rejects.toMatchObject({ code: 'thread_conflict' })
    const { messages } = await thread.messages()
    expect(messages).toMatchObject([{ status: 'pending', metadata: { queued: true } }])
  })

  test.each(['a_kind', 'a_0', 'a_2', 'settle_1', 'model_1_1', 'call_1_1_0', 'approval_a', 'report_1'])(
    'T4 under %s is never taken for what the runtime calls so',
    async (id) => {
      const thread = await fixture.threads.create({ agent: 'support' })
      const { toolCallId } = await thread.queueTool('look', {}, { id })
      expect(toolCallId).toMatch(/^queued_[\da-f]{32}$/)
      expect(await thread.queueTool('look', {}, { id })).toEqual({ toolCallId })
    },
  )

  test('without an id is another call each time', async () => {
    const thread = await fixture.threads.create({ agent: 'support' })
    const first = await thread.queueTool('look', {})
    const second = await thread.queueTool('look', {})
    expect(second.toolCallId).not.toBe(first.toolCallId)
    expect(second.toolCallId.length).toBeLessThanOrEqual(40)
  })

  test.each<[string, Parameters<ReturnType<ClientFixture['threads']['get']>['queueTool']>, string]>([
    ['no name', ['', {}], 'Expected the name of a tool'],
    ['no arguments', ['look', null as never], 'Expected the arguments of a tool as an object'],
    ['a ring', ['look', ring()], 'that JSON can carry'],
    ['large arguments', ['look', { a: 'x'.repeat(2_000_000) }], 'at most 1048576 bytes as JSON'],
    ['an id of ours', ['look', {}, { id: 'everthread:x' }], 'are kept for Everthread itself'],
  ])('with %s is refused', async (_title, given, problem) => {
    const thread = await fixture.threads.create({ agent: 'support' })
    const queued = thread.queueTool(...given)
    await expect(queued).rejects.toMatchObject({ code: 'message_rejected' })
    await expect(queued).rejects.toThrow(problem)
    expect((await thread.messages()).messages).toEqual([])
  })

  test('SA-R-10.3 is refused by a terminated thread', async () => {
    const thread = await fixture.threads.create({ agent: 'support' })
    await thread.terminate()
    const queued = thread.queueTool('look', {})
    await expect(queued).rejects.toMatchObject({ code: 'thread_terminated' })
    await expect(thread.setEnv({ KEY: 'x' })).rejects.toMatchObject({ code: 'thread_terminated' })
    expect((await thread.messages()).messages).toEqual([])
  })

  test('of a lost thread leaves nothing behind', async () => {
    const thread = await fixture.threads.create({ agent: 'support' })
    await thread.workflow.terminate()
    const started = {
      thread_id: thread.threadId,
      number: 1,
      trigger_kind: 'message',
      started_at: 1,
      steps: 0,
    }
    await fixture.store.write((tx) => insertRun(tx, started))
    await expect(thread.queueTool('look', {}, { id: 'x' })).rejects.toThrow('it is lost')
    expect((await thread.messages()).messages).toEqual([])
    expect(await callOf(thread.threadId, 'queued_x')).toBeNull()
  })
})

describe('variables', () => {
  test('are stored with the thread that is created', async () => {
    const env = { KEY: MARKER }
    const thread = await fixture.threads.create({ agent: 'support', id: fixture.taskQueue, env })
    await fixture.threads.create({ agent: 'support', id: fixture.taskQueue, env: { KEY: 'other' } })
    expect(await valuesOf(thread.threadId, ['KEY'])).toEqual(env)
    const runs = await recordedRuns(fixture.threads.temporal, thread.threadId)
    expect(searchForContent(runs).leaks).toEqual([])
  })

  test('are set later, and the workflow hears their names', async () => {
    const thread = await fixture.threads.create({ agent: 'support' })
    await thread.setEnv({ KEY: 'a', OTHER: '' })
    await thread.setEnv({ KEY: MARKER })
    expect(await valuesOf(thread.threadId, ['KEY', 'OTHER'])).toEqual({ KEY: MARKER, OTHER: '' })
    expect(await signalsOf(thread)).toEqual([
      ['setEnv', '{"names":["KEY","OTHER"]}'],
      ['setEnv', '{"names":["KEY"]}'],
    ])
  })

  test('that are none are refused, never shown', async () => {
    const thread = await fixture.threads.create({ agent: 'support' })
    await expect(thread.setEnv({})).rejects.toThrow('Expected the value of a variable, got none.')
    await expect(thread.setEnv({ KEY: 7 } as never)).rejects.toMatchObject({ code: 'message_rejected' })
    const long = thread.setEnv({ KEY: MARKER.repeat(10_000) })
    await expect(long).rejects.toThrow('at most 65536 bytes')
    await expect(long).rejects.not.toThrow(MARKER)
    const create = fixture.threads.create({ agent: 'support', env: { '': 'x' } })
    await expect(create).rejects.toMatchObject({ name: 'ConfigError', problems: { length: 1 } })
  })

  test('need the key of the store', async () => {
    const keyless = await createClientFixture(fixture.address, { secretKey: '' })
    try {
      const thread = await keyless.threads.create({ agent: 'support' })
      await expect(thread.setEnv({ KEY: 'x' })).rejects.toMatchObject({ name: 'StoreError', code: 'no_key' })
      expect(await signalsOf(thread)).toEqual([])
    } finally {
      await keyless.close()
    }
  })
})

test('a closed thread refuses what it would not do', async () => {
  const thread = await fixture.threads.create({ agent: 'support' })
  await fixture.store.write((tx) => updateThread(tx, thread.threadId, { status: 'completed', closed_at: 5 }))
  await expect(thread.queueTool('look', {})).rejects.toMatchObject({ status: 'completed' })
})

function callOf(threadId: string, toolCallId: string) {
  return fixture.store.read((db) => findToolCall(db, threadId, toolCallId))
}

async function valuesOf(threadId: string, names: readonly string[]): Promise<Record<string, string>> {
  const { store } = fixture
  const found = await store.read((db) => findVariables(db, threadId, names))
  return Object.fromEntries(found.map((variable) => [variable.name, openVariable(store.secrets, variable)]))
}

function ring(): Record<string, unknown> {
  const args: Record<string, unknown> = {}
  args['self'] = args
  return args
}
