import { expect, test } from 'vitest'
import type { ClientContext } from './client-context.js'
import { cancelWorkflow, describeWorkflow, fairnessKey, updateWorkflow } from './thread-workflow.js'

test('a short account is its own key', () => {
  expect(fairnessKey('acme')).toBe('acme')
  expect(fairnessKey('ä'.repeat(32))).toBe('ä'.repeat(32))
})

test('a long account is its digest, and two differ', () => {
  const keys = ['ä'.repeat(33), 'a'.repeat(65), `${'a'.repeat(64)}b`].map(fairnessKey)
  for (const key of keys) expect(Buffer.byteLength(key)).toBe(64)
  expect(new Set(keys).size).toBe(3)
})

test('a cancellation that the server accepts for a closed workflow cancels nothing', async () => {
  const cancel = (status: number): Promise<unknown> => cancelWorkflow(contextOf(executionOf(status)), 't')
  expect(await cancel(1)).toBe('accepted')
  expect(await cancel(2)).toBe('gone')
})

test.each([
  ['one with nothing to do', executionOf(1), true],
  ['one with a task', { ...executionOf(1), pendingWorkflowTask: { attempt: 1 } }, false],
  ['one with an activity', { ...executionOf(1), pendingActivities: [{}] }, false],
  ['a paused one, which takes no signals', executionOf(8), null],
  ['one of the time-skipping server, which shows no tasks', executionOf(1, 0), null],
])('a workflow rests if its description has nothing to do: %s', async (_, execution, rests) => {
  expect(await describeWorkflow(contextOf(execution), 't')).toMatchObject({ state: 'open', rests })
})

test('an Update that the server refuses because the workflow task keeps failing is one that no worker took', async () => {
  const refused = (details: string): Promise<unknown> => {
    const error = Object.assign(new Error(details), { code: 9, details, metadata: {} })
    const context = contextOf({}, () => Promise.reject(error))
    return updateWorkflow(context, 't', { name: 'removeQueued', id: 'u', input: {}, patience: 1_000 })
  }
  const failing = 'Unable to perform workflow execution update due to Workflow Task in failed state.'
  expect(await refused(failing)).toBe('silent')
  await expect(refused('something else')).rejects.toMatchObject({ code: 'temporal_unavailable' })
})

/** The status is Temporal's number. */
function executionOf(status: number, transitions = 5): object {
  return { workflowExecutionInfo: { status, stateTransitionCount: { toNumber: () => transitions } } }
}

/** A client of a server that accepts each cancellation, answers Updates so, and describes its workflow like this. */
function contextOf(
  execution: object,
  executeUpdate: () => Promise<unknown> = () => Promise.resolve(),
): ClientContext {
  const workflowService = { describeWorkflowExecution: () => Promise.resolve(execution) }
  const context: Partial<Record<keyof ClientContext, unknown>> = {
    temporal: () => ({
      options: { namespace: 'default' },
      workflow: { getHandle: () => ({ cancel: () => Promise.resolve({}), executeUpdate }) },
      workflowService,
    }),
    call: (_patience: number, work: () => Promise<unknown>) => work(),
  }
  return context as ClientContext
}
