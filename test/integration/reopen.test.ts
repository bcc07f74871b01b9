import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import { RequestNotFoundError, ThreadConflictError, ThreadTerminatedError } from '../../src/index.js'
import { assertReplays } from '../../src/testing/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { createGate } from '../support/gate.js'
import { recordedRuns, searchForContent } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { factTypes, toolResults } from '../support/thread-facts.js'
import { createThreadScripts } from '../support/thread-scripts.js'
import type { ThreadScript } from '../support/thread-scripts.js'
import { testEnvironment } from '../support/test-store.js'
import { until } from '../support/until.js'
import { noted, workflowDesk } from '../support/workflow-desk.js'
import type { WorkflowDesk } from '../support/workflow-desk.js'

const task = { task: marked('cut') }
const scripts = createThreadScripts()
let env: TestEnvironment<WorkflowDesk>

beforeAll(async () => {
  const { models, tools } = scripts
  env = await testEnvironment({ registry: workflowDesk, models, tools, server: 'dev' })
})
afterAll(() => env.close())

async function start(
  agent: 'clerk' | 'manager' | 'keeper',
  script: ThreadScript,
  message: string | null = marked('Hello'),
) {
  const id = `reopen-${agent}-${randomUUID()}`
  const voices = scripts.script(id, script)
  const thread = await env.threads.create({ agent, id, ...(message !== null && { message }) })
  return { ...voices, thread }
}

/** As an operator does who uses Temporal's own terminate, and waits for its retention. */
async function lose(thread: ThreadHandle, history: 'kept' | 'gone' = 'kept'): Promise<void> {
  await thread.workflow.terminate('operator')
  await until('a lost thread', async () => (await thread.snapshot()).status === 'lost')
  if (history === 'kept') return
  const { client } = thread.workflow
  const { runId } = await thread.workflow.describe()
  const workflowExecution = { workflowId: thread.threadId, runId }
  await client.workflowService.deleteWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution,
  })
  await until(
    'no history',
    () =>
      thread.workflow.describe().then(
        () => false,
        () => true,
      ),
    120_000,
    100,
  )
}

/** Every call has one result, and every result its call. */
async function expectPaired(thread: ThreadHandle): Promise<void> {
  const { messages } = await thread.messages({ includeSilent: true, limit: 200 })
  const calls = messages.flatMap(({ tool_calls: calls }) =>
    calls === null ? [] : (JSON.parse(calls) as { id: string }[]).map(({ id }) => id),
  )
  const results = messages.flatMap(({ tool_call_id: id }) => (id === null ? [] : [id]))
  expect(results.toSorted()).toEqual(calls.toSorted())
}

test('AR-CC.7 AR-S3.5 a thread lost in mid tool call goes on with another run', async () => {
  const gate = createGate()
  let works = 0
  const { thread, chat } = await start('clerk', {
    chat: [
      {
        toolCalls: [
          { name: 'work', args: task },
          { name: 'other', args: task },
        ],
      },
      { text: marked('Done') },
      { text: marked('Done') },
    ],
    tools: {
      work: async () => {
        works += 1
        await gate.passed
        return { status: 'success', result: marked('late') }
      },
    },
  })
  await until('the call', () => works === 1)
  await thread.send(marked('And this'))
  await lose(thread)
  // Nobody can prove that its work goes on: it is lost until somebody asks for it.
  expect((await thread.snapshot()).status).toBe('lost')
  await env.threads.reopen(thread.threadId)
  gate.open()
  expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reply: { content: marked('Done') } })
  expect(works).toBe(1)
  const results = await toolResults(thread)
  expect(results).toHaveLength(2)
  expect(results[0]?.content).toContain('interrupted')
  await expectPaired(thread)
  expect(JSON.stringify(chat.requests.at(-1)?.messages)).toContain(marked('And this'))
  expect((await thread.snapshot()).lastRun).toMatchObject({ reason: 'stop_on_response' })
  const types = await factTypes(thread)
  expect(types.filter((type) => type === 'thread.reopened' || type === 'run.failed')).toEqual([
    'run.failed',
    'thread.reopened',
  ])
  const runs = await recordedRuns(env.threads.temporal, thread.threadId)
  expect(searchForContent(runs, []).leaks).toEqual([])
  expect(await assertReplays(runs, { workflowBundle: { codePath: inject('workflowBundlePath') } })).toBe(
    runs.length,
  )
})

test('an idle thread without a history answers under its id', { timeout: 180_000 }, async () => {
  const { thread, chat } = await start('clerk', { chat: [{ text: marked('One') }, { text: marked('Two') }] })
  await thread.waitUntilIdle()
  await lose(thread, 'gone')
  await env.threads.reopen(thread.threadId)
  expect((await thread.waitUntilIdle()).status).toBe('idle')
  expect(chat.requests).toHaveLength(1)
  await thread.send(marked('More'))
  expect(await thread.waitUntilIdle()).toMatchObject({ reply: { content: marked('Two') } })
  expect((await thread.snapshot()).lastRun?.runId).toBe('run_2')
})

test('T3 messages of a lost thread are delivered once', async () => {
  const gate = createGate()
  const { thread, chat } = await start('clerk', {
    // Signals come one by one: a step may be made before the last of them is there.
    chat: [
      () => gate.passed.then(() => ({ text: marked('Cut') })),
      ...Array.from({ length: 4 }, () => ({ text: marked('Done') })),
    ],
  })
  await until('the request', () => chat.requests.length === 1)
  const sent = ['One', 'Two', 'Three']
  for (const text of sent) await thread.send(marked(text))
  await lose(thread)
  await Promise.all([1, 2, 3].map(() => env.threads.reopen(thread.threadId)))
  await thread.waitUntilIdle()
  gate.open()
  const { messages } = await thread.messages()
  const users = messages.filter(({ role }) => role === 'user').map(({ content }) => content)
  expect(users).toEqual(['Hello', ...sent].map((text) => marked(text)))
  expect((await factTypes(thread)).filter((type) => type === 'thread.reopened')).toHaveLength(1)
})

test('an approval of a lost thread is asked for again', async () => {
  const guarded = { name: 'guarded', args: { task: marked('large') } }
  const { thread } = await start('manager', {
    chat: [{ toolCalls: [guarded] }, { toolCalls: [guarded] }, { text: marked('Done') }],
  })
  expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
  const [first] = (await thread.snapshot()).pending
  await lose(thread)
  await env.threads.reopen(thread.threadId)
  const second = await until('another request', async () => {
    const [request] = (await thread.snapshot()).pending
    return request?.id === first?.id ? undefined : request
  })
  await expect(thread.respond(first?.id ?? '', { approved: true })).rejects.toSatisfy(
    RequestNotFoundError.isInstance,
  )
  await thread.respond(second.id, { approved: true })
  expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reply: { content: marked('Done') } })
  await expectPaired(thread)
})

test('what a blocked thread waits for can still be supplied', async () => {
  const { thread } = await start('keeper', { chat: [{ text: marked('Opened') }] })
  expect((await thread.waitUntilIdle()).status).toBe('blocked')
  await lose(thread)
  await env.threads.reopen(thread.threadId)
  expect((await thread.waitUntilIdle()).status).toBe('blocked')
  await thread.setEnv({ OWNER: 'Ann', SAFE_CODE: marked('1234567') })
  expect(await thread.waitUntilIdle()).toMatchObject({ reply: { content: marked('Opened') } })
})

test('a stopped thread stays stopped, with what waits', async () => {
  const gate = createGate()
  const { thread, chat } = await start('clerk', {
    chat: [() => gate.passed.then(() => ({ text: marked('Cut') })), { text: marked('Done') }],
  })
  await until('the request', () => chat.requests.length === 1)
  await thread.send(marked('Waits'))
  await thread.stop()
  expect((await thread.waitUntilIdle()).status).toBe('stopped')
  await lose(thread)
  await env.threads.reopen(thread.threadId)
  await until('the item', async () => (await thread.snapshot()).queue.length === 1)
  expect(await thread.waitUntilIdle()).toMatchObject({ status: 'stopped' })
  await thread.continue()
  expect(await thread.waitUntilIdle()).toMatchObject({ reply: { content: marked('Done') } })
  gate.open()
})

test('a scheduled effect of a lost thread runs once', async () => {
  let runs = 0
  const { thread } = await start('clerk', {
    chat: [{ toolCalls: [{ name: 'work', args: task }] }, { text: marked('Done') }],
    tools: {
      work: async (state) => {
        await state.scheduleEffect('note', {}, 4000)
        return { status: 'success', result: marked('later') }
      },
    },
  })
  noted.set(thread.threadId, () => Promise.resolve(void (runs += 1)))
  await thread.waitUntilIdle()
  await lose(thread)
  await env.threads.reopen(thread.threadId)
  expect((await thread.snapshot()).effects).toHaveLength(1)
  await until('the effect', () => runs === 1)
  await until('its row', async () => (await factTypes(thread)).includes('effect.completed'))
  expect(runs).toBe(1)
})

test('a thread that runs, or was terminated, is refused', async () => {
  const { thread } = await start('clerk', { chat: [{ text: marked('One') }] })
  await thread.waitUntilIdle()
  await expect(env.threads.reopen(thread.threadId)).rejects.toSatisfy(ThreadConflictError.isInstance)
  await thread.terminate()
  await until('closed', async () => (await thread.snapshot()).stale)
  await expect(env.threads.reopen(thread.threadId)).rejects.toSatisfy(ThreadTerminatedError.isInstance)
})

test('a thread that was reopened can be lost again', async () => {
  const { thread } = await start('clerk', { chat: [{ text: marked('One') }, { text: marked('Two') }] })
  await thread.waitUntilIdle()
  for (let times = 0; times < 2; times += 1) {
    await lose(thread)
    await env.threads.reopen(thread.threadId)
    await env.threads.reopen(thread.threadId)
  }
  await thread.send(marked('More'))
  expect(await thread.waitUntilIdle()).toMatchObject({ reply: { content: marked('Two') } })
})

test('what a thread was reopened with is not carried on', async () => {
  const { thread } = await start('clerk', { chat: [{ text: marked('One') }, { text: marked('Two') }] })
  await thread.waitUntilIdle()
  await lose(thread)
  await env.threads.reopen(thread.threadId, { limits: { historyEvents: 0 } })
  await thread.send(marked('More'))
  expect(await thread.waitUntilIdle()).toMatchObject({ reply: { content: marked('Two') } })
  const runs = await until('continue-as-new', async () => {
    const all = await recordedRuns(env.threads.temporal, thread.threadId)
    return all.length > 2 && all
  })
  const starts = runs.map(({ history }) => {
    const attributes = history.events?.[0]?.workflowExecutionStartedEventAttributes
    return Buffer.from(attributes?.input?.payloads?.[0]?.data ?? []).toString()
  })
  expect(starts.filter((text) => text.includes('"reopened"'))).toHaveLength(1)
  // Its memo is: to ask once more is fine.
  await env.threads.reopen(thread.threadId)
})
