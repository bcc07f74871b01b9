import { randomUUID } from 'node:crypto'

import { Worker } from '@temporalio/worker'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { recordedRuns } from '../support/histories.js'
import { payload, signalRaw } from '../support/raw-messages.js'
import { factsOf, transcript } from '../support/thread-facts.js'
import { until } from '../support/until.js'
import { openShop, replayOptions } from './plugin/shop.js'
import type { Shop } from './plugin/shop.js'

const refund = (orderId: string) => ({
  toolCalls: [{ name: 'refund_order', args: { orderId, euros: 40 } }],
})

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())

test('workflows and activities of a user run beside threads', async () => {
  const own = shop.client.workflow.execute('refundOrder', {
    taskQueue: shop.taskQueue,
    workflowId: randomUUID(),
    args: ['B-1', 12],
  })
  shop.voice.says({ text: 'Good day.' })
  const thread = await shop.threads.create({ agent: 'complaints', id: randomUUID(), message: 'Hello' })
  expect((await thread.waitUntilIdle()).reply?.content).toBe('Good day.')
  expect(await own).toBe('12 euros are refunded for B-1.')
})

test("a user's workflow starts a thread and waits for it", async () => {
  const order = `C-${randomUUID()}`
  shop.voice.says(refund(order), { text: 'They have their money back.' })
  const answer = await shop.client.workflow.execute('reviewComplaint', {
    taskQueue: shop.taskQueue,
    workflowId: randomUUID(),
    args: [order],
  })
  expect(answer).toBe('They have their money back.')
  const thread = shop.threads.get(`complaint-${order}`)
  expect(await transcript(thread)).toMatchObject([
    { role: 'user', content: `Order ${order} was damaged.` },
    { role: 'assistant' },
    { role: 'tool', tool_status: 'success', content: `40 euros are refunded for ${order}.` },
    { role: 'assistant', content: 'They have their money back.' },
  ])
  expect(await thread.snapshot()).toMatchObject({ status: 'completed' })
})

test('a tool that is a workflow runs it in the worker that has the threads, too', async () => {
  const id = `complaint-tool-${randomUUID()}`
  shop.voice.says(refund('F-1'), { text: 'Done.' })
  const thread = await shop.threads.create({ agent: 'complaints', id, message: 'Hello' })
  expect((await thread.waitUntilIdle()).reply?.content).toBe('Done.')
  const { type, taskQueue } = await shop.client.workflow.getHandle(`${id}:call_1_1_0`).describe()
  expect([type, taskQueue]).toEqual(['refundOrder', shop.taskQueue])
  const runs = await recordedRuns(shop.client, `${id}:call_1_1_0:tool`)
  const errors: unknown[] = []
  for await (const { error } of Worker.runReplayHistories(replayOptions, runs)) errors.push(error)
  expect(errors).toEqual([undefined])
})

test('histories of threads and of own workflows replay with the plugin', async () => {
  const order = `G-${randomUUID()}`
  const [taskQueue, workflowId] = [shop.taskQueue, randomUUID()]
  shop.voice.says(refund(order), { text: 'Done.' })
  await shop.client.workflow.execute('reviewComplaint', { taskQueue, workflowId, args: [order] })
  const ids = [workflowId, `complaint-${order}`]
  const runs = (await Promise.all(ids.map((id) => recordedRuns(shop.client, id)))).flat()
  const results = Worker.runReplayHistories(replayOptions, runs)
  const errors: unknown[] = []
  for await (const { error } of results) errors.push(error)
  expect(errors).toEqual([undefined, undefined])
})

test("a user's workflow that is cancelled ends its thread", async () => {
  const order = `D-${randomUUID()}`
  let asked = false
  shop.voice.says(async ({ raw }) => {
    asked = true
    await new Promise((resolve) => raw.abortSignal?.addEventListener('abort', resolve))
    return { text: 'Too late.' }
  })
  const workflow = await shop.client.workflow.start('reviewComplaint', {
    taskQueue: shop.taskQueue,
    workflowId: randomUUID(),
    args: [order],
  })
  await until('a request', () => asked)
  await workflow.cancel()
  await expect(workflow.result()).rejects.toThrow()
  const thread = shop.threads.get(`complaint-${order}`)
  expect(await thread.snapshot()).toMatchObject({ status: 'terminated' })
})

test('T10 broken JSON wedges no thread of a plugin worker', async () => {
  shop.voice.says({ text: 'Still here.' })
  const thread = await shop.threads.create({ agent: 'complaints', id: randomUUID() })
  const signal = { threadId: thread.threadId, signal: 'queueMessage', input: payload('json/plain', '{') }
  await signalRaw(shop.client, signal)
  await thread.send('Are you there?')
  expect((await thread.waitUntilIdle()).reply?.content).toBe('Still here.')
  expect((await factsOf(thread)).map(({ type }) => type)).toContain('runtime.warning')
})

test("a user's own workflow meets broken JSON as it always did", async () => {
  const workflowId = randomUUID()
  await shop.client.connection.workflowService.startWorkflowExecution({
    namespace: 'default',
    workflowId,
    workflowType: { name: 'refundOrder' },
    taskQueue: { name: shop.taskQueue },
    requestId: randomUUID(),
    input: { payloads: [payload('json/plain', '{')] },
  })
  await until('a failed workflow task', async () =>
    (await recordedRuns(shop.client, workflowId)).some(({ history }) =>
      history.events?.some((event) => event.workflowTaskFailedEventAttributes != null),
    ),
  )
  await shop.client.workflow.getHandle(workflowId).terminate()
})
