import { expect, test } from 'vitest'
import type { ClientContext } from './client-context.js'
import { cancelWorkflow, fairnessKey } from './thread-workflow.js'

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
  const cancel = (status: number): Promise<unknown> => cancelWorkflow(contextOf(status), 't')
  expect(await cancel(1)).toBe('accepted')
  expect(await cancel(2)).toBe('gone')
})

/** A client of a server that accepts each cancellation; the status is Temporal's number. */
function contextOf(status: number): ClientContext {
  const workflowService = {
    describeWorkflowExecution: () => Promise.resolve({ workflowExecutionInfo: { status } }),
  }
  const context: Partial<Record<keyof ClientContext, unknown>> = {
    temporal: () => ({
      options: { namespace: 'default' },
      workflow: { getHandle: () => ({ cancel: () => Promise.resolve({}) }) },
      workflowService,
    }),
    call: (_patience: number, work: () => Promise<unknown>) => work(),
  }
  return context as ClientContext
}
