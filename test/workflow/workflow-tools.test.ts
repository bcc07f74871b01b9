/** Tools that are workflows, whose worker is the user's. */
import { expect, test } from 'vitest'
import { z } from 'zod'

import type { ThreadHandle } from '../../src/client/index.js'
import { defineWorkflowTool } from '../../src/index.js'
import { until } from '../support/until.js'
import { factsOf, toolResults, transcript } from '../support/thread-facts.js'
import { THEIRS, call, done, outcomeMessages, workflowToolDesk } from './workflow-tools/workflow-tool-desk.js'

const desk = workflowToolDesk()

async function textOf(thread: ThreadHandle, path: string): Promise<string> {
  const bytes = await thread.readFile(path)
  return bytes === null ? '' : Buffer.from(bytes).toString()
}

async function codesOf(thread: ThreadHandle): Promise<readonly (string | null)[]> {
  const facts = await factsOf(thread)
  return facts.flatMap((one) => (one.type === 'tool.result' ? [one.payload.errorCode ?? null] : []))
}

const args = z.object({ orderId: z.string(), after: z.number().optional() })
const common = { description: 'Refunds an order.', args, taskQueue: THEIRS }
const waits = defineWorkflowTool({ ...common, workflow: 'refund' })
const starts = defineWorkflowTool({ ...common, workflow: 'refund', mode: 'start' })

test('KP-03.5 a call waits for its workflow, a child of a workflow of the call', async () => {
  const id = 'workflow-tools-waits'
  const says = [call('refund', { orderId: 'A-17', after: 50 }), done]
  await desk.run({ id, tools: { refund: waits }, says }, async ({ thread, client }) => {
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reply: { content: 'Done.' } })
    expect(await toolResults(thread)).toMatchObject([
      { tool_status: 'success', content: '{"orderId":"A-17","refunded":true}' },
    ])
    const child = await client.workflow.getHandle(`${id}:call_1_1_0`).describe()
    expect(child).toMatchObject({ type: 'refund', taskQueue: THEIRS, status: { name: 'COMPLETED' } })
    expect(child.parentExecution?.workflowId).toBe(`${id}:call_1_1_0:tool`)
    const parent = client.workflow.getHandle(`${id}:call_1_1_0:tool`)
    expect(await parent.result()).toEqual({
      ...{ workflowId: `${id}:call_1_1_0`, outcome: 'completed', delivered: 'call' },
    })
    const types = (await factsOf(thread)).map(({ type }) => type)
    expect(types.filter((type) => type === 'tool.started')).toHaveLength(1)
    expect(types).not.toContain('action.required')
    expect((await thread.tools()).tools).toMatchObject([
      {
        ...{ toolName: 'refund', runtimeOwner: 'workflow', taskQueue: THEIRS, isIdempotent: true },
        ...{ workflow: { type: 'refund', mode: 'execute' }, interruptBehavior: 'cancel', timeout: 3_600_000 },
      },
    ])
  })
})

test('KP-03.5 a call that only starts its workflow ends at once, and the result comes as a queued message', async () => {
  const id = 'workflow-tools-starts'
  const says = [call('refund', { orderId: 'A-17' }), { text: 'Started.' }, done]
  await desk.run({ id, tools: { refund: starts }, says }, async ({ thread, client, model }) => {
    expect(await thread.waitUntilIdle()).toMatchObject({ reply: { content: 'Started.' } })
    const [result] = await toolResults(thread)
    expect(JSON.parse(result?.content ?? '')).toMatchObject({
      ...{ workflowId: `${id}:call_1_1_0`, status: 'started' },
    })
    await client.workflow.getHandle(`${id}:call_1_1_0`).signal('finish')
    await until('the message', () => model.requests.length === 3)
    expect(await thread.waitUntilIdle()).toMatchObject({ reply: { content: 'Done.' } })
    const told = await outcomeMessages(thread)
    expect(await transcript(thread)).not.toContainEqual(told[0])
    expect(told).toMatchObject([
      {
        id: 'call_1_1_0_workflow',
        role: 'user',
        silent: true,
        metadata: { workflow: { status: 'completed' } },
      },
    ])
    expect(told[0]?.content).toBe(
      'The workflow "refund", which the call call_1_1_0 of "refund" has started, has completed. Its result:\n' +
        '{"orderId":"A-17","refunded":true}',
    )
    expect(await client.workflow.getHandle(`${id}:call_1_1_0:tool`).result()).toMatchObject({
      delivered: 'message',
    })
  })
})

test('input, id and the part of the output are what the tool says', async () => {
  const tool = defineWorkflowTool({
    ...{ description: 'Lists.', args: z.object({ orderId: z.string() }), taskQueue: THEIRS },
    workflow: 'listed',
    input: ({ orderId }) => [orderId, 40],
    workflowId: ({ orderId }) => `workflow-tools-own-${orderId}`,
    select: '/order/euros',
  })
  const nothing = defineWorkflowTool({ description: 'Does it.', workflow: 'nothing', taskQueue: THEIRS })
  const says = [call('list', { orderId: 'A-18' }), call('nothing'), done]
  await desk.run({ id: 'workflow-tools-shapes', tools: { list: tool, nothing }, says }, async (running) => {
    await running.thread.waitUntilIdle()
    expect(await toolResults(running.thread)).toMatchObject([
      { tool_status: 'success', content: '40' },
      { tool_status: 'success', content: 'The tool call succeeded.' },
    ])
    const own = await running.client.workflow.getHandle('workflow-tools-own-A-18').describe()
    expect(own.status.name).toBe('COMPLETED')
  })
})

test('a workflow that returns an object with a status returns a value, and waits for nobody', async () => {
  const tool = defineWorkflowTool({ description: 'Does it.', workflow: 'waitsPending', taskQueue: THEIRS })
  const says = [call('odd'), done]
  await desk.run({ id: 'workflow-tools-odd', tools: { odd: tool }, says }, async ({ thread }) => {
    expect((await thread.waitUntilIdle()).status).toBe('idle')
    expect(await toolResults(thread)).toMatchObject([{ content: '{"status":"pending"}' }])
  })
})

test('a large result is cut for the model, and stored whole as a file, in both modes', async () => {
  const large = { description: 'Says much.', args: z.object({ size: z.number() }), taskQueue: THEIRS }
  const tools = {
    now: defineWorkflowTool({ ...large, workflow: 'large' }),
    later: defineWorkflowTool({ ...large, workflow: 'large', mode: 'start' }),
  }
  const says = [call('now', { size: 200_000 }), call('later', { size: 300_000 }), done, done]
  await desk.run({ id: 'workflow-tools-large', tools, says }, async ({ thread, model }) => {
    await until('the message', () => model.requests.length >= 3)
    await until('the file', () => thread.statFile('/results/call_1_2_0_workflow.txt').then(Boolean))
    await thread.waitUntilIdle()
    const [now] = await toolResults(thread)
    expect(now?.content?.length).toBeLessThan(10_000)
    expect(now?.content).toContain('/results/call_1_1_0.txt')
    expect(await textOf(thread, '/results/call_1_1_0.txt')).toHaveLength(200_000)
    expect(await textOf(thread, '/results/call_1_2_0_workflow.txt')).toMatch(
      /has completed. Its result:\nx{300000}$/,
    )
  })
})

test('an input that Temporal would not take is an error, and nothing is started', async () => {
  const says = [call('refund', { orderId: 'x'.repeat(1_000_001) }), call('refund', { orderId: 3 }), done]
  await desk.run(
    { id: 'workflow-tools-input', tools: { refund: waits }, says },
    async ({ thread, client }) => {
      await thread.waitUntilIdle()
      expect(await codesOf(thread)).toEqual(['workflow_input', 'invalid_arguments'])
      const parent = client.workflow.getHandle('workflow-tools-input:call_1_1_0:tool')
      await expect(parent.describe()).rejects.toThrow(/not found/i)
    },
  )
})
