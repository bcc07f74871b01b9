import type { Transport } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'

import { letTasksThrough, readWaitingTask, TASKS, waitForNewTask } from './tasks.js'

/** What the client is told of a message of the server. */
function heard(message: object): unknown {
  const told: unknown[] = []
  const transport = { onmessage: (one: unknown) => void told.push(one) } as unknown as Transport
  letTasksThrough(transport)
  transport.onmessage?.(message as never)
  return told[0]
}

const answer = (result: object) => ({ jsonrpc: '2.0', id: 3, result })

test('a result of the type task is an empty one with the task beside it', () => {
  const task = { taskId: 't', status: 'working', pollIntervalMs: 2_000 }
  expect(heard(answer({ resultType: 'task', content: [], ...task }))).toEqual(
    answer({ resultType: 'complete', content: [], _meta: { [TASKS]: task } }),
  )
})

test.each([
  ['a result', answer({ resultType: 'complete', content: [] })],
  ['a question', answer({ resultType: 'input_required', requestState: 's' })],
  ['an error', { jsonrpc: '2.0', id: 3, error: { code: -32_601, message: 'No' } }],
  ['a notification', { jsonrpc: '2.0', method: 'notifications/progress', params: {} }],
])('%s stays as it is', (_what, message) => {
  expect(heard(message)).toBe(message)
})

test('the wait for a task has its id, and a task without one is refused', () => {
  const waits = waitForNewTask('demo', { [TASKS]: { taskId: 't', pollIntervalMs: 2_000 } })
  expect(waits).toMatchObject({ after: 2_000, resume: { task: { id: 't', interval: 2_000 } } })
  expect(readWaitingTask('demo', waits?.resume ?? {})).not.toBeNull()
  expect(readWaitingTask('demo', { input: { keys: [] } })).toBeNull()
  expect(waitForNewTask('demo', { other: 1 })).toBeNull()
  for (const taskId of [undefined, '', 7, 'x'.repeat(2_000)])
    expect(() => waitForNewTask('demo', { [TASKS]: { taskId } })).toThrow(/began a task without an id/)
})
