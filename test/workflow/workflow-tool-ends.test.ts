/** How calls of workflow tools end that do not succeed, and what a stop does to their workflows. */
import { expect, test } from 'vitest'
import { z } from 'zod'

import type { ThreadHandle } from '../../src/client/index.js'
import { defineWorkflowTool } from '../../src/index.js'
import { until } from '../support/until.js'
import { factsOf, toolResults } from '../support/thread-facts.js'
import { THEIRS, call, done, outcomeMessages, workflowToolDesk } from './workflow-tools/workflow-tool-desk.js'
import type { Running } from './workflow-tools/workflow-tool-desk.js'

const desk = workflowToolDesk()
const args = z.object({ orderId: z.string(), after: z.number().optional() })
const common = { description: 'Refunds an order.', args, taskQueue: THEIRS }
const waits = defineWorkflowTool({ ...common, workflow: 'refund' })
const starts = defineWorkflowTool({ ...common, workflow: 'refund', mode: 'start' })

async function endsOf(thread: ThreadHandle) {
  const facts = await factsOf(thread)
  const results = facts.flatMap((one) => (one.type === 'tool.result' ? [one.payload] : []))
  const texts = await toolResults(thread)
  return results.map(({ errorCode, failure }, index) => ({
    ...{ code: errorCode, category: failure?.category, isRetryable: failure?.isRetryable },
    text: texts[index]?.content,
  }))
}

test('KP-03.5 a failed workflow is an error with its message, category and code', async () => {
  const fails = defineWorkflowTool({
    ...{ description: 'Fails.', args: z.object({ how: z.string() }), taskQueue: THEIRS },
    workflow: 'fails',
  })
  const hows = ['plain', 'permanent', 'category', 'activity', 'slow activity']
  const says = [...hows.map((how) => call('fail', { how })), done]
  await desk.run({ id: 'workflow-tools-fails', tools: { fail: fails }, says }, async ({ thread }) => {
    await thread.waitUntilIdle()
    expect(await endsOf(thread)).toEqual([
      {
        ...{ code: 'workflow_failed', category: 'unknown', isRetryable: false },
        text: expect.stringContaining('It did not work.'),
      },
      {
        ...{ code: 'OrderGone', category: 'permanent', isRetryable: false },
        text: expect.stringContaining('The order is gone.'),
      },
      {
        ...{ code: 'rate_limit', category: 'rate_limit', isRetryable: true },
        text: expect.stringContaining('Slower.'),
      },
      {
        ...{ code: 'workflow_failed', category: 'unknown', isRetryable: false },
        text: expect.stringContaining('The bank says no.'),
      },
      {
        ...{ code: 'workflow_failed', category: 'timeout', isRetryable: true },
        text: expect.stringContaining('did not end in time'),
      },
    ])
  })
})

test('a retry policy of Temporal tries the workflow again, and onError stands in for its failure', async () => {
  const id = 'workflow-tools-retries'
  const fails = defineWorkflowTool({
    ...{ description: 'Fails.', args: z.object({ how: z.string() }), taskQueue: THEIRS },
    ...{ workflow: 'fails', retry: { maximumAttempts: 2, initialInterval: 10 } },
    onError: { fallback: 'Tomorrow.' },
  })
  const says = [call('fail', { how: 'plain' }), done]
  await desk.run({ id, tools: { fail: fails }, says }, async ({ thread, client }) => {
    await thread.waitUntilIdle()
    expect(await toolResults(thread)).toMatchObject([{ tool_status: 'success', content: 'Tomorrow.' }])
    const { events } = await client.workflow.getHandle(`${id}:call_1_1_0`).fetchHistory()
    expect(events?.[0]?.workflowExecutionStartedEventAttributes?.attempt).toBe(2)
  })
})

test('a workflow without a worker, or of no known type, ends the call with what it waited for', async () => {
  const none = { ...common, timeout: 4_000 }
  const tools = {
    alone: defineWorkflowTool({ ...none, workflow: 'refund', taskQueue: 'workflow-tools-nobody' }),
    wrong: defineWorkflowTool({ ...none, workflow: 'refnud' }),
    slow: defineWorkflowTool({ ...none, workflow: 'refund' }),
  }
  const says = [...['alone', 'wrong', 'slow'].map((name) => call(name, { orderId: 'A' })), done]
  await desk.run({ id: 'workflow-tools-nobody', tools, says }, async ({ thread }) => {
    await thread.waitUntilIdle()
    const ends = await endsOf(thread)
    expect(ends.map(({ code, category }) => [code, category])).toEqual(
      Array.from({ length: 3 }, () => ['workflow_timeout', 'timeout']),
    )
    expect(ends[0]?.text).toContain('no worker has taken it from the task queue "workflow-tools-nobody"')
    expect(ends[1]?.text).toContain(`a worker of the task queue "${THEIRS}" cannot run it`)
    expect(ends[1]?.text).toContain('refnud')
    expect(ends[2]?.text).toMatch(/did not end within 4 seconds\./)
  })
})

test('an id that another workflow has is an error, in both modes', async () => {
  const workflowId = () => 'workflow-tools-taken-id'
  const tools = {
    now: defineWorkflowTool({ ...common, workflow: 'refund', workflowId }),
    later: defineWorkflowTool({ ...common, workflow: 'refund', workflowId, mode: 'start' }),
  }
  const says = [call('now', { orderId: 'A' }), call('later', { orderId: 'A' }), done, done]
  await desk.run({ id: 'workflow-tools-taken', tools, says }, async ({ thread, client, model }) => {
    const other = await client.workflow.start('refund', {
      ...{ workflowId: workflowId(), taskQueue: THEIRS, args: [{ orderId: 'other' }] },
    })
    await until('both', async () => (await outcomeMessages(thread)).length > 0)
    await until('the end', () => model.requests.length >= 3)
    await thread.waitUntilIdle()
    expect(await endsOf(thread)).toMatchObject([{ code: 'workflow_id_taken', category: 'conflict' }, {}])
    const [told] = await outcomeMessages(thread)
    expect(told?.content).toContain('has failed: The workflow "refund" was not started')
    await other.terminate()
  })
})

async function statusOf({ client }: Running, workflowId: string): Promise<string> {
  return (await client.workflow.getHandle(workflowId).describe()).status.name
}

async function untilStarted(running: Running, workflowId: string): Promise<void> {
  await until('the workflow', () =>
    statusOf(running, workflowId).then(
      (status) => status === 'RUNNING',
      () => false,
    ),
  )
}

const ends = ['stop', 'terminate', 'preempt'] as const

test.each(ends)('KP-03.5 a %s cancels the workflow that a call waits for', async (how) => {
  const id = `workflow-tools-${how}`
  const says = [call('refund', { orderId: 'A' }), done]
  await desk.run({ id, tools: { refund: waits }, says }, async (running) => {
    const { thread, client } = running
    await untilStarted(running, `${id}:call_1_1_0`)
    if (how === 'stop') await thread.stop()
    if (how === 'terminate') await thread.terminate()
    if (how === 'preempt') await thread.send({ content: 'No.', deliver: 'preempt' })
    await until(
      'a cancelled workflow',
      async () => (await statusOf(running, `${id}:call_1_1_0`)) === 'CANCELLED',
    )
    const parent = client.workflow.getHandle(`${id}:call_1_1_0:tool`)
    await expect(parent.result()).rejects.toThrow()
    await thread.waitUntilIdle()
    const outcome = how === 'terminate' ? 'cancelled' : 'interrupted'
    expect(await endsOf(thread)).toMatchObject([{ code: outcome, category: 'cancelled' }])
  })
})

test('a workflow that a tool abandons outlives the stop, and so does one that was only started', async () => {
  const id = 'workflow-tools-abandon'
  const tools = {
    later: starts,
    left: defineWorkflowTool({ ...common, workflow: 'refund', interruptBehavior: 'abandon' }),
  }
  const says = [call('later', { orderId: 'A' }), call('left', { orderId: 'B' }), done]
  await desk.run({ id, tools, says }, async (running) => {
    const ids = [`${id}:call_1_1_0`, `${id}:call_1_2_0`]
    for (const workflowId of ids) await untilStarted(running, workflowId)
    await running.thread.terminate()
    await running.thread.waitUntilIdle()
    for (const workflowId of ids) await running.client.workflow.getHandle(workflowId).signal('finish')
    // Nobody takes what they return, and both parents say so, or that the call has ended.
    const results = await Promise.all(
      ids.map((workflowId) => running.client.workflow.getHandle(`${workflowId}:tool`).result()),
    )
    expect(results).toMatchObject([
      { outcome: 'completed', delivered: 'nowhere' },
      { outcome: 'completed', delivered: 'call' },
    ])
  })
})

test('a call that a person has to approve starts nothing before that', async () => {
  const id = 'workflow-tools-approval'
  const tool = defineWorkflowTool({ ...common, workflow: 'refund', needsApproval: true })
  const says = [call('refund', { orderId: 'A', after: 10 }), done]
  await desk.run({ id, tools: { refund: tool }, says }, async ({ thread, client }) => {
    expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
    const parent = client.workflow.getHandle(`${id}:call_1_1_0:tool`)
    await expect(parent.describe()).rejects.toThrow(/not found/i)
    const [asked] = (await thread.snapshot()).pending
    await thread.respond(asked?.id ?? '', { approved: true })
    expect((await thread.waitUntilIdle()).status).toBe('idle')
    expect(await toolResults(thread)).toMatchObject([{ tool_status: 'success' }])
  })
})
