import { randomUUID } from 'node:crypto'

import { Client } from '@temporalio/client'
import { expect, test } from 'vitest'

import { ThreadClient } from '../../src/client/index.js'
import { createEncryptingCodec } from '../integration/plugin/encrypting-codec.js'
import { until } from '../support/until.js'
import { servedFixture } from './client-fixture.js'

const fixture = servedFixture()

test('only workflows of threads are deleted with a thread', async () => {
  const { temporal } = fixture.threads
  const { workflow, workflowService } = temporal
  const workflowId = `order'${randomUUID()}`
  const order = { workflowId, taskQueue: 'orders' }
  const first = await workflow.start('orderWorkflow', order)
  await first.terminate('over')
  const thread = await fixture.threads.create({ agent: 'support', id: workflowId })
  const { runId } = await thread.workflow.describe()
  await thread.workflow.terminate('operator')
  await thread.terminate()
  const last = await workflow.start('orderWorkflow', order)
  const query = `WorkflowId = '${workflowId.replace("'", "\\'")}'`
  await until('all three to be listed', async () => (await workflow.count(query)).count === 3)
  const deleted: string[] = []
  const remove = workflowService.deleteWorkflowExecution.bind(workflowService)
  workflowService.deleteWorkflowExecution = ((request: Parameters<typeof remove>[0]) => {
    deleted.push(request.workflowExecution?.runId ?? '')
    return remove(request)
  }) as typeof remove
  expect(await fixture.threads.deleteThread(workflowId)).toEqual({ threads: 1, kept: [] })
  expect(deleted).toEqual([runId])
  expect((await last.describe()).status.name).toBe('RUNNING')
})

test('a thread behind a codec is ended and deleted without it', async () => {
  const { connection, options } = fixture.threads.temporal
  const dataConverter = { payloadCodecs: [createEncryptingCodec()] }
  const sealed = new ThreadClient({
    client: new Client({ connection, namespace: options.namespace, dataConverter }),
    taskQueue: fixture.taskQueue,
    store: fixture.place,
  })
  try {
    const created = await sealed.create({ agent: 'support', message: 'Hello' })
    const thread = fixture.threads.get(created.threadId)
    await expect(thread.workflow.describe()).rejects.toThrow('binary/encrypted')
    await expect(thread.waitUntilIdle({ timeout: '3 s' })).rejects.toThrow(fixture.taskQueue)
    await thread.terminate()
    await created.workflow.terminate('operator')
    await thread.terminate()
    expect(await fixture.threads.deleteThread(thread.threadId)).toEqual({ threads: 1, kept: [] })
  } finally {
    await sealed.close()
  }
})

test('one tree that cannot be deleted does not end the retention of others', async () => {
  const { workflowService } = fixture.threads.temporal
  const ids = [randomUUID(), randomUUID(), randomUUID()]
  for (const id of ids) {
    const thread = await fixture.threads.create({ agent: 'support', id })
    await thread.workflow.terminate('operator')
    await thread.terminate()
  }
  const [, broken = ''] = ids
  const list = workflowService.listWorkflowExecutions.bind(workflowService)
  workflowService.listWorkflowExecutions = ((request: Parameters<typeof list>[0]) => {
    if (request.query?.includes(broken) !== true) return list(request)
    throw Object.assign(new Error('away'), { code: 14, details: 'away', metadata: {} })
  }) as typeof list
  const swept = await fixture.threads.sweep({ closedFor: 0 })
  expect(swept).toMatchObject({
    trees: 2,
    failed: [{ threadId: broken, problem: expect.stringContaining('away') }],
  })
  workflowService.listWorkflowExecutions = list
  expect(await fixture.threads.sweep({ closedFor: 0 })).toMatchObject({ trees: 1, failed: [] })
})
