import { describe, expect, test } from 'vitest'
import type { ThreadHandle } from '../../src/client/index.js'
import { insertToolCalls, listOpenToolCalls } from '../../src/store/calls/tool-calls.js'
import { insertChild } from '../../src/store/threads/children.js'
import { insertRun } from '../../src/store/threads/runs.js'
import { findThread, insertThread, updateThread } from '../../src/store/threads/threads.js'
import { collect, servedFixture } from './client-fixture.js'

const fixture = servedFixture()

const TERMINATED = { code: 'thread_terminated', status: 'terminated' }

describe('a terminated thread', () => {
  test('SA-R-10.3 refuses everything, before any worker saw it', async () => {
    const thread = await fixture.threads.create({ agent: 'support', message: 'Hello' })
    await thread.terminate({ reason: 'enough' })
    await refusesEverything(thread)
    expect((await thread.messages()).messages).toHaveLength(1)
    const row = await fixture.store.read((db) => findThread(db, thread.threadId))
    expect(row).toMatchObject({ terminate_reason: 'enough', closed_at: null })
    const { terminated, status } = await thread.snapshot()
    expect(status).toBe('terminated')
    expect(terminated).toBe(row?.terminate_requested_at)
  })

  test('gets one cancel request and may be terminated again', async () => {
    const thread = await fixture.threads.create({ agent: 'support' })
    await thread.terminate()
    await thread.terminate()
    const { events } = await thread.workflow.fetchHistory()
    const cancels = events?.filter((event) => event.workflowExecutionCancelRequestedEventAttributes)
    expect(cancels).toHaveLength(1)
  })

  test('refuses everything after its history was deleted', async () => {
    const thread = await fixture.threads.create({ agent: 'support', message: 'Hello' })
    await thread.terminate()
    await deleteHistory(thread)
    await refusesEverything(thread)
    // A worker was never there to close it: the second one finds it gone and does.
    await thread.terminate()
    await refusesEverything(thread)
    expect(await thread.snapshot()).toMatchObject({ status: 'terminated', stale: true, queue: [] })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'terminated', runId: null, reply: null })
    const types = (await collect(thread.events())).map(({ type }) => type)
    expect(types).toEqual([
      'thread.started',
      'session.created',
      'thread.terminating',
      'message.ended',
      'thread.closed',
    ])
  })

  test('tells a sender that its queued message was rejected', async () => {
    const thread = await fixture.threads.create({ agent: 'support' })
    await thread.send({ id: 'mail-1', content: 'Hello' })
    await thread.workflow.terminate()
    await thread.terminate()
    await expect(thread.send({ id: 'mail-1', content: 'Hello' })).rejects.toMatchObject(TERMINATED)
    const closed = fixture.threads.get(thread.threadId)
    expect((await closed.snapshot()).queue).toEqual([])
  })

  test('that completed says so', async () => {
    const thread = await fixture.threads.create({ agent: 'support' })
    await fixture.store.write((tx) =>
      updateThread(tx, thread.threadId, { status: 'completed', closed_at: 5 }),
    )
    await expect(thread.send('Hello')).rejects.toMatchObject({
      code: 'thread_terminated',
      status: 'completed',
    })
    await thread.terminate()
    expect(await thread.snapshot()).toMatchObject({
      status: 'completed',
      stale: true,
      at: 5,
      terminated: null,
    })
  })
})

describe('a lost thread', () => {
  test('is one that Temporal closed while its row is open', async () => {
    const thread = await lostThread()
    expect(await thread.snapshot()).toMatchObject({ status: 'lost', stale: true })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'lost', runId: 'run_1' })
  })

  test('keeps nothing of a message that it cannot take', async () => {
    const thread = await lostThread()
    const attachments = [{ name: 'a.txt', mimeType: 'text/plain', data: 'YQ==' }]
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const send = thread.send({ id: 'mail-1', content: 'Hello', attachments })
      await expect(send).rejects.toMatchObject({ code: 'message_rejected', problem: /is lost/ })
    }
    expect((await thread.messages()).messages).toEqual([])
    expect((await thread.readdirFile('/attachments')).entries).toEqual([])
    await expect(thread.stop()).rejects.toMatchObject({ code: 'message_rejected' })
  })

  test('is not revived after its history was deleted', async () => {
    const thread = await threadThatRan()
    await deleteHistory(thread)
    await expect(thread.send('Hello')).rejects.toMatchObject({ code: 'message_rejected', problem: /is lost/ })
    expect(await thread.snapshot()).toMatchObject({ status: 'lost' })
  })

  test('is closed with its open calls and children by terminate', async () => {
    const thread = await lostThread()
    const child = { id: `child-${thread.threadId}`, agent: 'research', created_at: 1 }
    await fixture.store.write(async (tx) => {
      await insertThread(tx, { ...child, parent_thread_id: thread.threadId })
      await insertChild(tx, childOf(thread.threadId, child.id))
      await insertToolCalls(tx, [callOf(thread.threadId)])
    })
    await thread.terminate({ reason: 'lost' })
    const { threadId } = thread
    expect(await fixture.store.read((db) => listOpenToolCalls(db, threadId))).toEqual([])
    expect(await fixture.store.read((db) => findThread(db, child.id))).toMatchObject({ status: 'terminated' })
    const { children, status } = await thread.snapshot()
    expect([status, ...children.map((entry) => entry.status)]).toEqual(['terminated', 'terminated'])
    const events = await collect(thread.events())
    expect(events).toMatchObject([
      { type: 'thread.started' },
      { type: 'session.created' },
      { type: 'thread.terminating', payload: { by: 'client', reason: 'lost' } },
      ...[{ type: 'tool.result' }, { type: 'run.cancelled' }, { type: 'thread.closed' }],
    ])
    const ofChild = await collect(fixture.threads.get(child.id).events())
    expect(ofChild).toMatchObject([
      { type: 'thread.terminating', payload: { by: 'runtime', reason: 'The parent thread was closed.' } },
      { type: 'thread.closed' },
    ])
  })
})

test('T8 terminate ends children beside one that was deleted', async () => {
  const { threadId, terminate } = await lostThread()
  const [gone, left] = [`gone-${threadId}`, `left-${threadId}`]
  const add = (id: string, parent: string, closedAt: number | null) =>
    fixture.store.write(async (tx) => {
      const row = { id, agent: 'research', created_at: 1, parent_thread_id: parent, closed_at: closedAt }
      await insertThread(tx, row)
      await insertChild(tx, childOf(parent, id))
    })
  await add(gone, threadId, 2)
  await add(left, threadId, null)
  await fixture.threads.deleteThread(gone)
  await terminate()
  const closedOf = async (id: string) => (await fixture.store.read((db) => findThread(db, id)))?.closed_at
  expect(await closedOf(left)).toEqual(expect.any(Number))
  // As after an ending that was cut off behind its first row.
  await add(`late-${threadId}`, left, null)
  await terminate()
  expect(await closedOf(`late-${threadId}`)).toEqual(expect.any(Number))
})

async function threadThatRan(): Promise<ThreadHandle> {
  const thread = await fixture.threads.create({ agent: 'support' })
  const run = { thread_id: thread.threadId, number: 1, trigger_kind: 'message', started_at: 1 }
  await fixture.store.write((tx) => insertRun(tx, run))
  return thread
}

async function lostThread(): Promise<ThreadHandle> {
  const thread = await threadThatRan()
  await thread.workflow.terminate('by an operator')
  return thread
}

async function refusesEverything(thread: ThreadHandle): Promise<void> {
  const { threadId } = thread
  await expect(thread.send('Late')).rejects.toMatchObject(TERMINATED)
  await expect(thread.stop()).rejects.toMatchObject(TERMINATED)
  await expect(thread.continue()).rejects.toMatchObject(TERMINATED)
  await expect(thread.writeFile('/late.txt', 'late', 'text/plain')).rejects.toMatchObject(TERMINATED)
  const again = fixture.threads.create({
    agent: 'support',
    id: threadId,
    message: { id: `late-${threadId}`, content: 'Late' },
  })
  await expect(again).rejects.toMatchObject(TERMINATED)
}

/** What retention does in the end. The server deletes an open workflow at once, a closed one after half a minute. */
async function deleteHistory(thread: ThreadHandle): Promise<void> {
  const { workflowService, options } = fixture.threads.temporal
  const workflowExecution = { workflowId: thread.threadId }
  await workflowService.deleteWorkflowExecution({ namespace: options.namespace, workflowExecution })
  await expect
    .poll(() => thread.workflow.describe().catch((error: Error) => error.name), { timeout: 20_000 })
    .toBe('WorkflowNotFoundError')
}

function childOf(parent: string, reference: string): Parameters<typeof insertChild>[1] {
  return {
    parent_thread_id: parent,
    reference,
    call_id: 'call_1_1_0',
    agent: 'research',
    name: 'research',
    description: 'Researches',
    resumable: false,
    blocking: true,
    created_at: 1,
    status: 'running',
  }
}

function callOf(threadId: string): Parameters<typeof insertToolCalls>[1][number] {
  return {
    thread_id: threadId,
    id: 'call_1_1_0',
    message_id: 'm',
    run: 1,
    step: 1,
    call_index: 0,
    side: 'a',
    name: 'research',
    provider_call_id: 'p',
    arguments: '{}',
  }
}
