import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ClientContext, ThreadNotice } from '../client-context.js'
import type { Look } from '../read-snapshot.js'
import { explainSilence, forgetWait, reportWait } from './notices.js'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

test('a silent thread is reported once it was silent for 1.5 s, and once for each wait', async () => {
  const context = contextOf(running(1))
  const notices: ThreadNotice[] = []
  let began = Date.now()
  const onNotice = (notice: ThreadNotice): void => void notices.push(notice)
  const look = (): Promise<void> => reportWait(context, silent, { began, onNotice })
  await look()
  vi.advanceTimersByTime(1_400)
  await look()
  expect(notices).toEqual([])
  vi.advanceTimersByTime(100)
  await look()
  await look()
  expect(notices).toMatchObject([{ code: 'no_answer', threadId: 't' }])
  forgetWait(context, 't')
  began = Date.now()
  await look()
  expect(notices).toHaveLength(1)
  vi.advanceTimersByTime(1_500)
  await look()
  expect(notices).toHaveLength(2)
})

test('an answer begins the time of silence anew', async () => {
  const context = contextOf(running(1))
  const notices: ThreadNotice[] = []
  const began = Date.now()
  const onNotice = (notice: ThreadNotice): void => void notices.push(notice)
  const look = (busy: Look): Promise<void> => reportWait(context, busy, { began, onNotice })
  await look(silent)
  vi.advanceTimersByTime(1_000)
  await look({ ...silent, silent: false })
  vi.advanceTimersByTime(1_000)
  await look(silent)
  expect(notices).toEqual([])
})

test.each([
  ['a queue without a worker', running(1), 'no worker answers on task queue "q"; start one, or'],
  ['a worker that died twice', running(3), 'no worker answers on task queue "q"; start one, or'],
  ['a task that fails', running(4), 'its workflow task has failed 3 times; the log of the worker'],
  ['a workflow that never started', () => Promise.reject(grpcError(5)), 'its workflow is not started yet'],
  [
    'a server that is away',
    () => Promise.reject(grpcError(14)),
    'Expected a Temporal server at the address of its client, got no connection (of a test): start one with',
  ],
])('silence is explained: %s', async (_case, describeWorkflow, reason) => {
  expect(await explainSilence(contextOf(describeWorkflow), 't')).toContain(reason)
})

const silent = {
  snapshot: { threadId: 't', agent: 'support', run: null },
  silent: true,
  owed: [],
} as unknown as Look

function running(attempt: number): () => Promise<object> {
  const info = { execution: { runId: 'r' }, type: { name: 'agentThread' }, taskQueue: 'q', status: 1 }
  return () => Promise.resolve({ workflowExecutionInfo: info, pendingWorkflowTask: { attempt } })
}

function grpcError(code: number): Error {
  return Object.assign(new Error('of a test'), { code, details: 'of a test', metadata: {} })
}

/** A client of a server that describes its workflow like this, and of a store without agents. */
function contextOf(describeWorkflow: () => Promise<object>): ClientContext {
  const context: Partial<Record<keyof ClientContext, unknown>> = {
    temporal: () => ({
      options: { namespace: 'default' },
      workflowService: { describeWorkflowExecution: describeWorkflow },
    }),
    call: (_patience: number, work: () => Promise<unknown>) => work(),
    store: () => Promise.resolve({ read: () => Promise.resolve([]) }),
  }
  return context as ClientContext
}
