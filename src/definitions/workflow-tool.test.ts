import { expect, test } from 'vitest'
import { z } from 'zod'

import { ConfigError } from '../protocol/errors.js'
import { registry } from './registry.js'
import { defineWorkflowTool } from './workflow-tool.js'

const common = { description: 'Refunds.', args: z.object({ orderId: z.string() }) }
const call = { id: 'call_1_1_0', idempotencyKey: 'a:call_1_1_0', threadId: 'a' }

async function refundOrder(orderId: string): Promise<{ readonly euros: number }> {
  return { euros: orderId.length }
}

function problemsOf(fields: object): readonly string[] {
  try {
    defineWorkflowTool({ ...common, workflow: 'refundOrder', ...fields })
    return []
  } catch (error) {
    if (ConfigError.isInstance(error)) return error.problems
    throw error
  }
}

test('a tool of a workflow starts it with the arguments, under the key of the call, and takes all of its output', () => {
  const tool = defineWorkflowTool({ ...common, workflow: 'refundOrder', capabilities: ['refund'] })
  expect(tool).toMatchObject({ idempotent: true, capabilities: ['refund'], description: 'Refunds.' })
  const { workflow } = tool
  expect(workflow).toMatchObject({
    ...{ type: 'refundOrder', mode: 'execute', timeout: 3_600_000, interruptBehavior: 'cancel' },
  })
  expect(workflow?.input({ orderId: 'A' }, call)).toEqual([{ orderId: 'A' }])
  expect(workflow?.workflowId({ orderId: 'A' }, call)).toBe('a:call_1_1_0')
  expect(workflow?.select({ euros: 3 })).toEqual({ euros: 3 })
})

test('a function names the workflow, and says what its input and output are', () => {
  const { workflow } = defineWorkflowTool({
    ...{ ...common, workflow: refundOrder, mode: 'start', taskQueue: 'payments' },
    input: ({ orderId }) => [orderId],
    workflowId: ({ orderId }, { threadId }) => `refund-${threadId}-${orderId}`,
    select: '/euros',
  })
  expect(workflow).toMatchObject({
    ...{ type: 'refundOrder', taskQueue: 'payments', timeout: 30 * 86_400_000 },
    ...{ mode: 'start', interruptBehavior: 'abandon' },
  })
  expect(workflow?.input({ orderId: 'A' }, call)).toEqual(['A'])
  expect(workflow?.workflowId({ orderId: 'A' }, call)).toBe('refund-a-A')
  expect(workflow?.select({ euros: 3 })).toBe(3)
  expect(() => workflow?.select({ cents: 3 })).toThrow(/\/euros/)
})

test.each<readonly [string, object, RegExp]>([
  [
    'no name',
    {
      workflow: (
        () => async () =>
          undefined
      )(),
    },
    /"workflow"/,
  ],
  ['a long name', { workflow: 'x'.repeat(1001) }, /"workflow"/],
  ['another mode', { mode: 'wait' }, /"mode" to be 'execute' or 'start', got "wait"/],
  ['no task queue', { taskQueue: '' }, /"taskQueue"/],
  ['no time', { timeout: 0 }, /"timeout" to be whole milliseconds/],
  ['an unknown reuse', { workflowIdReusePolicy: 'TERMINATE' }, /"workflowIdReusePolicy"/],
  ['an unknown behavior', { interruptBehavior: 'block' }, /"interruptBehavior"/],
  ['no function', { workflowId: 'refund' }, /"workflowId" to be a function, got "refund"/],
  ['no pointer', { select: 'euros' }, /JSON Pointer/],
  ['an endless retry', { retry: { maximumAttempts: 0 } }, /"retry"/],
  ['a shrinking retry', { retry: { maximumAttempts: 2, backoffCoefficient: 0.5 } }, /"retry"/],
  ['a stop of what was started', { mode: 'start', interruptBehavior: 'cancel' }, /outlives the run/],
  ['a fallback for what was started', { mode: 'start', onError: { fallback: 1 } }, /"onError"/],
])('a workflow tool with %s is refused', (_what, fields, expected) => {
  expect(problemsOf(fields).join()).toMatch(expected)
})

test('all that is wrong is said at once', () => {
  expect(problemsOf({ mode: 'wait', timeout: -1, select: 'x' })).toHaveLength(3)
})

test('a task queue beside the workflow is refused by the registry', () => {
  const tool = { ...defineWorkflowTool({ ...common, workflow: 'refundOrder' }), taskQueue: 'elsewhere' }
  expect(() => registry({ agents: [], tools: { tool: tool as never } })).toThrow(
    /is a workflow and has "taskQueue"/,
  )
})

test('it cannot run inside the call of another tool', async () => {
  const tool = defineWorkflowTool({ ...common, workflow: 'refundOrder' })
  expect(await tool.execute({} as never, {} as never, {} as never)).toMatchObject({
    ...{ status: 'error', error_code: 'not_in_place' },
  })
})
