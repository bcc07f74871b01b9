import { expect, test } from 'vitest'
import type { ThreadHandle } from '../../src/client/index.js'
import { insertRun } from '../../src/store/threads/runs.js'
import { findThread, insertThread, updateThread } from '../../src/store/threads/threads.js'
import { servedFixture } from './client-fixture.js'

const fixture = servedFixture()

/** In mid turn, as an operator who uses Temporal's own terminate leaves it. */
async function lostThread(): Promise<ThreadHandle> {
  const thread = await fixture.threads.create({ agent: 'support', message: 'Hello' })
  await fixture.store.write(async (tx) => {
    const run = { thread_id: thread.threadId, number: 1, trigger_kind: 'message', started_at: 1 }
    await insertRun(tx, run)
    await updateThread(tx, thread.threadId, { status: 'running' })
  })
  await thread.workflow.terminate('operator')
  return thread
}

async function reopenedState(thread: ThreadHandle): Promise<unknown> {
  const { events } = await thread.workflow.fetchHistory()
  const input = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data
  const start = JSON.parse(Buffer.from(input ?? []).toString()) as { readonly reopened: unknown }
  return start.reopened
}

async function statusOf({ threadId }: ThreadHandle): Promise<string | undefined> {
  return (await fixture.store.read((db) => findThread(db, threadId)))?.status
}

test('a reopening whose start failed is done by the next', async () => {
  const thread = await lostThread()
  const { workflow } = fixture.threads.temporal
  workflow.start = () => Promise.reject(new Error('no server'))
  await expect(fixture.threads.reopen(thread.threadId)).rejects.toThrow('no server')
  Reflect.deleteProperty(workflow, 'start')
  expect(await statusOf(thread)).toBe('running')
  await fixture.threads.reopen(thread.threadId)
  expect(await reopenedState(thread)).toMatchObject({ side: 'a', runs: 1 })
  expect(await statusOf(thread)).toBe('running')
})

test('a child that was never started is not reopened', async () => {
  const parent = await fixture.threads.create({ agent: 'support' })
  const child = { id: `waits-${parent.threadId}`, agent: 'research', status: 'deferred', created_at: 1 }
  await fixture.store.write((tx) =>
    insertThread(tx, { ...child, parent_thread_id: parent.threadId, parent_call_id: 'call_1_1_0' }),
  )
  const before = await fixture.store.read((db) => findThread(db, child.id))
  await expect(fixture.threads.reopen(child.id)).rejects.toThrow(/was never started/)
  expect(await fixture.store.read((db) => findThread(db, child.id))).toEqual(before)
  await expect(fixture.threads.get(child.id).workflow.describe()).rejects.toThrow()
})
