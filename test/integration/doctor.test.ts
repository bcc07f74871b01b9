import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Examine, Finding } from '../../src/client/index.js'
import { stageMessage } from '../../src/store/messages/message-writes.js'
import { stageQueuedTool } from '../../src/store/messages/queued-tools.js'
import { insertOperation } from '../../src/store/operations.js'
import { insertEffect } from '../../src/store/threads/effects.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { familyDesk } from '../support/family-desk.js'
import type { FamilyDesk } from '../support/family-desk.js'
import { startFamily } from '../support/family-runs.js'
import { createFamilyScripts } from '../support/family-scripts.js'
import { createGate } from '../support/gate.js'
import { approve, done, draft, order } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { testEnvironment } from '../support/test-store.js'
import { factTypes, toolResults, transcript } from '../support/thread-facts.js'
import { until } from '../support/until.js'

const scripts = createFamilyScripts()
let env: TestEnvironment<FamilyDesk>

beforeAll(async () => {
  const { models, tools } = scripts
  env = await testEnvironment({ registry: familyDesk, models, tools, server: 'dev' })
})
afterAll(() => env.close())

async function findings(options: Examine = {}): Promise<readonly Finding[]> {
  const found: Finding[] = []
  for await (const finding of env.threads.doctor(options)) found.push(finding)
  return found
}

test('T3 what was accepted and never told is told', async () => {
  const { thread } = await startFamily(env, scripts, {
    voices: { planner: [done, { text: marked('Late') }, { text: marked('Later') }] },
  })
  await thread.waitUntilIdle()
  const { threadId } = thread
  // As a client leaves it that died before its signal.
  await env.store.write(async (tx) => {
    const message = { id: `late-${threadId}`, threadId, role: 'user', content: marked('Late?') } as const
    await stageMessage(tx, { ...message, createdAt: 1, sentBy: 'client', digest: 'x' })
    const tool = { threadId, toolCallId: `queued_${randomUUID().slice(0, 8)}`, name: 'plan', args: {} }
    await stageQueuedTool(tx, { ...tool, sentBy: 'client', now: 2 })
  })
  expect(await findings()).toMatchObject([
    { kind: 'unsignalled', threadId, fixed: false, problem: expect.stringContaining('2 items') },
  ])
  expect(await findings({ fix: true })).toMatchObject([{ kind: 'unsignalled', fixed: true }])
  await until('both', async () => (await toolResults(thread)).length === 1)
  await thread.waitUntilIdle()
  expect(await findings({ fix: true })).toEqual([])
  const rows = await transcript(thread)
  expect(rows.filter(({ content }) => content === marked('Late?'))).toHaveLength(1)
})

test('T9 an effect that was scheduled and never told runs once, when it is due', async () => {
  const { thread } = await startFamily(env, scripts, { voices: { planner: [done, done] } })
  await thread.waitUntilIdle()
  const { threadId } = thread
  const reminder = (id: string, due_at: number) => ({
    ...{ thread_id: threadId, id, name: 'remind', args: { note: marked(id) }, due_at, created_at: 1 },
  })
  // As a child leaves them that was ended in Temporal before its signal.
  await env.store.write(async (tx) => {
    await insertEffect(tx, reminder('due', 2))
    await insertEffect(tx, reminder('later', (Date.now() + 3_600_000) * 1000))
  })
  expect(await findings()).toMatchObject([
    { kind: 'unsignalled', threadId, fixed: false, problem: expect.stringContaining('2 effects') },
  ])
  expect(await findings({ fix: true })).toMatchObject([{ kind: 'unsignalled', fixed: true }])
  const ran = async () => (await factTypes(thread)).filter((type) => type === 'effect.completed')
  await until('the effect', async () => (await ran()).length === 1)
  await thread.waitUntilIdle()
  expect((await thread.snapshot()).effects).toMatchObject([{ id: 'later' }])
  expect(await findings({ fix: true })).toEqual([])
  expect(await ran()).toHaveLength(1)
})

test('a stopped thread is told and stays stopped', async () => {
  const gate = createGate()
  const { thread, requests } = await startFamily(env, scripts, {
    voices: { planner: [() => gate.passed.then(() => done), { text: marked('Late') }] },
  })
  await until('the request', () => requests('planner').length === 1)
  const { threadId } = thread
  const message = { id: `late-${threadId}`, threadId, role: 'user', content: marked('Late?') } as const
  await env.store.write((tx) => stageMessage(tx, { ...message, createdAt: 1, sentBy: 'client', digest: 'x' }))
  await thread.stop()
  gate.open()
  expect((await thread.waitUntilIdle()).status).toBe('stopped')
  expect(await findings({ fix: true })).toMatchObject([{ kind: 'unsignalled', threadId, fixed: true }])
  await until('the item', async () => (await thread.snapshot()).queue.length === 1)
  expect((await thread.waitUntilIdle()).status).toBe('stopped')
  await thread.continue()
  expect(await thread.waitUntilIdle()).toMatchObject({ reply: { content: marked('Late') } })
})

test('T7 threads that were killed together are reopened together', async () => {
  const gate = createGate()
  const family = await startFamily(env, scripts, {
    voices: {
      planner: [{ toolCalls: [order('pair')] }, done, done, done],
      writer: [() => gate.passed.then(() => draft), draft],
      editor: [approve(), approve()],
    },
  })
  const { thread } = family
  const child = await family.child()
  await until('the request of the child', () => family.requests('writer').length === 1)
  for (const { workflow } of [thread, child]) await workflow.terminate('operator')
  const found = await findings({ fix: true, reopen: true })
  expect(found.map(({ kind, threadId }) => [kind, threadId])).toEqual([
    ['lost', thread.threadId],
    ['lost', child.threadId],
  ])
  gate.open()
  await until('both at rest', async () => (await thread.waitUntilIdle({ children: true })).status === 'idle')
  expect(await findings({ fix: true })).toEqual([])
})

test('T9 what a child scheduled is left to it while it runs, and told when an operator has ended it', async () => {
  const gate = createGate()
  const family = await startFamily(env, scripts, {
    voices: {
      planner: [{ toolCalls: [order('pair')] }, done, done],
      writer: [() => gate.passed.then(() => draft)],
    },
  })
  const { thread } = family
  const { threadId } = thread
  const child = await family.child()
  await until('the request of the child', () => family.requests('writer').length === 1)
  await scheduledBy(child.threadId, threadId)
  expect(await findings({ fix: true })).toEqual([])
  await child.workflow.terminate('operator')
  gate.open()
  const found = await findings({ fix: true })
  expect(found).toContainEqual(
    expect.objectContaining({
      kind: 'unsignalled',
      threadId,
      fixed: true,
      problem: expect.stringContaining('1 effects'),
    }),
  )
  await until('the effect', async () => (await factTypes(thread)).includes('effect.completed'))
})

test('T9 what a thread did not tell before it was lost is told when it was reopened and stopped', async () => {
  const gate = createGate()
  const held = () => gate.passed.then(() => done)
  const family = await startFamily(env, scripts, {
    voices: {
      planner: [{ toolCalls: [order('pair')] }, held, held],
      writer: [() => gate.passed.then(() => draft)],
    },
  })
  const { thread } = family
  const child = await family.child()
  await until('the request of the child', () => family.requests('writer').length === 1)
  await scheduledBy(thread.threadId, child.threadId)
  await thread.workflow.terminate('operator')
  await env.threads.reopen(thread.threadId)
  await until('the new request', () => family.requests('planner').length === 2)
  await thread.stop()
  expect((await thread.waitUntilIdle()).status).toBe('stopped')
  const found = (await findings({ fix: true })).filter(({ threadId }) => threadId === child.threadId)
  expect(found).toMatchObject([{ kind: 'unsignalled', fixed: true }])
  gate.open()
  await thread.terminate()
})

/** As a tool of the sender leaves it whose worker died before its answer was heard. */
async function scheduledBy(sender: string, threadId: string): Promise<void> {
  const effect = { id: `effect_${randomUUID()}`, name: 'remind', args: { note: marked('note') } }
  const tell = {
    kind: 'signal_thread',
    to: threadId,
    operation: { kind: 'schedule_effect', id: effect.id, dueAt: 1 },
  }
  await env.store.write(async (tx) => {
    await insertEffect(tx, { ...effect, thread_id: threadId, due_at: 2, created_at: 1 })
    const operation = { thread_id: sender, id: 'call_9_1_0', kind: 'tool', attempt: 1, started_at: 1 }
    await insertOperation(tx, { ...operation, state: 'finished', answer: { operations: [tell] } })
  })
}
