/** Calls that wait for their workflows, where time is skipped: what other tests leave running would hold that up. */
import { expect, test } from 'vitest'
import { z } from 'zod'

import type { ThreadHandle } from '../../src/client/index.js'
import { defineWorkflowTool } from '../../src/index.js'
import { until } from '../support/until.js'
import { toolResults } from '../support/thread-facts.js'
import { THEIRS, call, done, workflowToolDesk } from './workflow-tools/workflow-tool-desk.js'
import type { Running } from './workflow-tools/workflow-tool-desk.js'

const desk = workflowToolDesk()

const args = z.object({ orderId: z.string(), after: z.number().optional() })
const common = { description: 'Refunds an order.', args, taskQueue: THEIRS }
const waits = defineWorkflowTool({ ...common, workflow: 'refund' })

async function stateOfCall(thread: ThreadHandle): Promise<string | undefined> {
  return (await thread.toolCall('call_1_1_0'))?.status
}

async function untilStarted(client: Running['client'], workflowId: string): Promise<void> {
  await until('the workflow', () =>
    client.workflow
      .getHandle(workflowId)
      .describe()
      .then(
        ({ status }) => status.name === 'RUNNING',
        () => false,
      ),
  )
}

/** Time that was skipped before a timer began is skipped once more. */
async function skipUntilIdle(
  { thread, skip }: Pick<Running, 'thread' | 'skip'>,
  time: '10 minutes' | '3 days',
) {
  await until('the end of the run', async () => {
    await skip(time)
    return (await thread.snapshot()).status === 'idle'
  })
}

test('a call that waits runs, is nobody’s to answer, and goes on when its workflow ends, after days', async () => {
  const id = 'workflow-tools-days'
  const says = [call('refund', { orderId: 'A-17', after: 3 * 86_400_000 }), done]
  await desk.run({ id, tools: { refund: longer }, says }, async ({ thread, skip }) => {
    await until('a waiting call', async () => (await stateOfCall(thread)) === 'open')
    await skip('1 day')
    expect(await thread.snapshot()).toMatchObject({ status: 'running', pending: [] })
    await skipUntilIdle({ thread, skip }, '3 days')
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reply: { content: 'Done.' } })
    expect(await toolResults(thread)).toMatchObject([{ tool_status: 'success' }])
  })
})

const longer = defineWorkflowTool({ ...common, workflow: 'refund', timeout: 30 * 86_400_000 })

test('a cancelled workflow is an error, and so is one whose parent was terminated, after a look', async () => {
  const id = 'workflow-tools-ended'
  const says = [...['A', 'B'].map((orderId) => call('refund', { orderId })), done]
  await desk.run({ id, tools: { refund: waits }, says }, async ({ thread, client, skip }) => {
    await untilStarted(client, `${id}:call_1_1_0`)
    await client.workflow.getHandle(`${id}:call_1_1_0`).cancel()
    await untilStarted(client, `${id}:call_1_2_0`)
    await client.workflow.getHandle(`${id}:call_1_2_0:tool`).terminate()
    await skipUntilIdle({ thread, skip }, '10 minutes')
    const calls = await Promise.all(['call_1_1_0', 'call_1_2_0'].map((id) => thread.toolCall(id)))
    expect(calls).toMatchObject([
      { errorCode: 'workflow_cancelled', failure: { category: 'cancelled' } },
      { errorCode: 'workflow_lost', failure: { category: 'unknown' } },
    ])
  })
})
