import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { THREAD_WORKFLOW } from '../../src/protocol/messages.js'
import { activityNames, recordedRuns } from '../support/histories.js'
import { testEnvironment } from '../support/test-store.js'
import { createThreadScripts } from '../support/thread-scripts.js'
import { startTimeSkippingServer } from '../support/time-skipping-server.js'
import type { TimeSkippingServer } from '../support/time-skipping-server.js'
import { until } from '../support/until.js'
import { workflowDesk } from '../support/workflow-desk.js'

let server: TimeSkippingServer | undefined
beforeAll(async () => {
  server = await startTimeSkippingServer()
})
afterAll(() => server?.stop())

test('T8 a cancellation before the first task survives continue-as-new', async () => {
  if (server === undefined) throw new Error('Expected a server, there is none.')
  const { environment } = server
  const threadId = `cancelled-${randomUUID()}`
  const taskQueue = `late-${randomUUID()}`
  const start = { agent: 'clerk', message: { messageId: 'nowhere' }, limits: { historyEvents: 0 } }
  const workflow = await environment.client.workflow.start(THREAD_WORKFLOW, {
    ...{ workflowId: threadId, taskQueue, args: [start] },
  })
  await workflow.cancel()
  // Only now somebody works at it: the first task has the cancellation.
  const { models, tools } = createThreadScripts()
  const workflowBundle = { codePath: inject('workflowBundlePath') }
  const worker = { taskQueue, workflowBundle }
  const env = await testEnvironment({ server: environment, registry: workflowDesk, models, tools, worker })
  try {
    await until('its end', async () => (await workflow.describe()).status.name === 'CANCELLED')
    const runs = await recordedRuns(environment.client, threadId)
    expect(runs).toHaveLength(1)
    expect(activityNames(runs)).toEqual(['thread.settle'])
  } finally {
    await env.close()
  }
})
