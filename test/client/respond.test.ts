import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { NativeConnection, Worker } from '@temporalio/worker'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Answer, ThreadHandle } from '../../src/client/index.js'
import { findRequest } from '../../src/store/calls/requests.js'
import { finishToolCall } from '../../src/store/calls/tool-calls.js'
import { insertRun } from '../../src/store/threads/runs.js'
import { findVariables } from '../../src/store/threads/variables.js'
import { addChildRows } from '../support/child-rows.js'
import { recordedRuns, searchForContent } from '../support/histories.js'
import { MARKER } from '../support/marker.js'
import { startDevServer } from '../support/servers.js'
import type { DevServer } from '../support/servers.js'
import { until } from '../support/until.js'
import { collect, createClientFixture } from './client-fixture.js'
import type { ClientFixture } from './client-fixture.js'
import { askRequest } from './request-rows.js'
import type { AskedRequest } from './request-rows.js'

const workflowsPath = fileURLToPath(new URL('./fixtures/answering-workflow.ts', import.meta.url))

let server: DevServer
let connection: NativeConnection
let fixture: ClientFixture
let worker: Worker | undefined
let running: Promise<void> | undefined

beforeAll(async () => {
  server = await startDevServer()
  connection = await NativeConnection.connect({ address: server.address })
})
afterAll(async () => {
  await connection.close()
  await server.stop()
})
beforeEach(async () => {
  fixture = await createClientFixture(server.address)
})
afterEach(async () => {
  worker?.shutdown()
  await running
  worker = undefined
  await fixture.close()
})

describe('an answer', () => {
  test('is in the row before the workflow takes it', async () => {
    const { thread, id } = await asked()
    await know(thread, id)
    await thread.respond(id, { approved: false, reason: `Too much ${MARKER}`, by: MARKER })
    expect(await taken(thread)).toMatchObject({ taken: [{ id, approved: false }] })
    expect(await rowOf(thread, id)).toMatchObject({
      status: 'answered',
      approved: false,
      reason: `Too much ${MARKER}`,
      answered_by: MARKER,
    })
    await leaksNothing(thread)
  })

  test('given again is taken once, another one refused', async () => {
    const { thread, id } = await asked()
    await know(thread, id)
    await thread.respond(id, { approved: true })
    await thread.respond(id, { approved: true })
    await expect(thread.respond(id, { approved: false })).rejects.toMatchObject({ code: 'request_not_found' })
    expect(await taken(thread)).toEqual({ taken: [{ id, approved: true }], refused: 0 })
  })

  test('of several at once is one, the others told', async () => {
    const { thread, id } = await asked()
    await know(thread, id)
    const answers = [true, false, true, false].map((approved) => thread.respond(id, { approved }))
    const settled = await Promise.allSettled(answers)
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
    expect((await taken(thread)).taken).toHaveLength(1)
  })

  test('waits until the workflow knows its request', async () => {
    const { thread, id } = await asked()
    const responded = thread.respond(id, { approved: true })
    await until('a refusal', async () => (await taken(thread)).refused > 0)
    await know(thread, id)
    await responded
    expect((await taken(thread)).taken).toEqual([{ id, approved: true }])
  })

  test('that was taken in an earlier run is fine again', async () => {
    const { thread, id } = await asked()
    const responded = thread.respond(id, { approved: true })
    await until('a refusal', async () => (await taken(thread)).refused > 0)
    await finishCall(thread, 'succeeded')
    await responded
    expect((await taken(thread)).taken).toEqual([])
  })

  test('to a call that a stop ended is refused', async () => {
    const { thread, id } = await asked()
    const responded = thread.respond(id, { approved: true })
    await until('a refusal', async () => (await taken(thread)).refused > 0)
    await finishCall(thread, 'interrupted')
    await expect(responded).rejects.toMatchObject({ code: 'request_not_found' })
  })

  test('to a thread whose workflow is gone says so', async () => {
    const { thread, id } = await asked()
    await thread.workflow.terminate()
    await expect(thread.respond(id, { approved: true })).rejects.toThrow('it is lost')
  })
})

describe('a result', () => {
  const kind = 'call'
  const report = { name: 'report.txt', mimeType: 'text/plain', data: Buffer.from(MARKER) }

  test('brings its files into the thread, once', async () => {
    const { thread, id } = await asked({ kind, id: 'call_1_1_0' })
    await know(thread, id)
    const answer: Answer = {
      result: {
        status: 'success',
        result: { note: MARKER },
        content: [
          { type: 'text', text: 'Two files' },
          { type: 'file', file: report },
        ],
        attachments: [{ ...report, name: 'second.txt' }],
      },
    }
    await thread.respond(id, answer)
    await thread.respond(id, answer)
    const { entries } = await thread.readdirFile('/attachments')
    expect(entries.map(({ name }) => name)).toEqual(['report.txt', 'second.txt'])
    expect((await rowOf(thread, id))?.answer).toMatchObject({
      status: 'success',
      result: { note: MARKER },
      content: [
        { type: 'text', text: 'Two files' },
        { type: 'file', file: { path: '/attachments/report.txt', size: MARKER.length } },
      ],
      attachments: [{ path: '/attachments/second.txt' }],
    })
    expect(await taken(thread)).toEqual({ taken: [{ id, result: true }], refused: 0 })
    await leaksNothing(thread)
  })

  test('with other bytes is another answer', async () => {
    const { thread, id } = await asked({ kind, id: 'call_1_1_0' })
    await know(thread, id)
    const answer = (data: string | Uint8Array): Answer => ({
      result: { status: 'success', attachments: [{ ...report, data }] },
    })
    await thread.respond(id, answer(Buffer.from('a')))
    await thread.respond(id, answer('YQ=='))
    await expect(thread.respond(id, answer(Buffer.from('b')))).rejects.toMatchObject({
      code: 'request_not_found',
    })
    const { entries } = await thread.readdirFile('/attachments')
    expect(entries).toHaveLength(1)
  })

  test('that names a file of the thread must have it', async () => {
    const { thread, id } = await asked({ kind, id: 'call_1_1_0' })
    const attachments = [{ path: '/none.txt' }] as never
    const answer: Answer = { result: { status: 'success', attachments } }
    await expect(thread.respond(id, answer)).rejects.toMatchObject({ code: 'message_rejected' })
    expect(await rowOf(thread, id)).toMatchObject({ status: 'open' })
  })
})

/** The call `call_1_1_0` is under way, and has asked nothing. */
async function underWay(): Promise<ThreadHandle> {
  const thread = await fixture.threads.create({ agent: 'support' })
  await askRequest(fixture.store, { thread: thread.threadId, id: 'other' })
  return thread
}

describe('a result before its question', () => {
  const id = 'call_1_1_0'
  const result: Answer = { result: { status: 'success', result: 'Two' } }

  test('is kept without a worker, once, and the first one stays', async () => {
    const thread = await underWay()
    const attachments = [{ name: 'a.txt', mimeType: 'text/plain', data: 'YQ==' }]
    const answer: Answer = { result: { status: 'success', attachments } }
    await Promise.all([thread.respond(id, answer), thread.respond(id, answer)])
    await thread.respond(id, answer)
    await expect(thread.respond(id, result)).rejects.toMatchObject({
      code: 'request_not_found',
      answered: true,
    })
    expect(await rowOf(thread, id)).toMatchObject({ status: 'early', kind: 'call', call_id: id })
    expect((await thread.readdirFile('/attachments')).entries).toHaveLength(1)
    await expect(thread.request(id)).rejects.toThrow('one that was answered before its call asked')
  })

  test('is dropped with a call that ends without asking: the same one again is refused', async () => {
    const thread = await underWay()
    await thread.respond(id, result)
    await finishCall(thread, 'succeeded')
    for (const answer of [result, { result: { status: 'success' } } as const])
      await expect(thread.respond(id, answer)).rejects.toMatchObject({
        code: 'request_not_found',
        answered: false,
        message: expect.stringContaining('one that was ended'),
      })
    await expect(thread.request(id)).rejects.toThrow('answered early, and whose call ended without asking')
  })

  test('is refused for a call that is over or not there', async () => {
    const thread = await underWay()
    await expect(thread.respond('call_9_9_9', result)).rejects.toThrow('no request of this id')
    await finishCall(thread, 'succeeded')
    await expect(thread.respond(id, result)).rejects.toThrow('no request of this id')
    expect(await rowOf(thread, id)).toBeNull()
  })

  test('may not be an approval, which nobody was asked for', async () => {
    const thread = await underWay()
    for (const name of [id, `approval_${id}`])
      await expect(thread.respond(name, { approved: true })).rejects.toThrow('has not asked for yet')
    await expect(thread.respond(id, { env: { A: 'b' } })).rejects.toThrow('no request of this id')
  })

  test('is refused by a thread that was terminated', async () => {
    const thread = await underWay()
    await thread.respond(id, result)
    await thread.terminate()
    await expect(thread.respond(id, result)).rejects.toMatchObject({ code: 'request_not_found' })
  })
})

describe('variables', () => {
  const detail = { agent: 'support', required: ['KEY'], missing: ['KEY'] }
  const request = { kind: 'variables', id: 'variables_1', args: null, detail } as const

  test('are sealed in the store, their names in the answer', async () => {
    const names = ['KEY', 'OTHER']
    const { thread, id } = await asked({ ...request, detail: { ...detail, required: names } })
    await know(thread, id)
    const env = { KEY: MARKER, OTHER: 'x' }
    await thread.respond(id, { env })
    await thread.respond(id, { env })
    expect((await rowOf(thread, id))?.answer).toEqual({ names })
    expect(await taken(thread)).toMatchObject({ taken: [{ id, names }], refused: 0 })
    const stored = await fixture.store.read((db) => findVariables(db, thread.threadId, names))
    expect(stored.map(({ type }) => type)).toEqual(['secret', 'secret'])
    expect(JSON.stringify(stored)).not.toContain(MARKER)
    const resolved = (await collect(thread.events({ follow: false }))).filter(
      ({ type }) => type === 'action.resolved',
    )
    expect(resolved).toMatchObject([{ payload: { requestId: id, kind: 'variables', decision: 'supplied' } }])
    expect(JSON.stringify(resolved)).not.toContain(MARKER)
    await leaksNothing(thread)
  })

  test('T7 T8 are asked for no more once the subagent is terminated', async () => {
    const child = `child-${randomUUID()}`
    const { thread, id } = await asked({ ...request, detail: { ...detail, child } })
    const { threadId } = thread
    const entry = { status: 'deferred' }
    await addChildRows(fixture.store, { id: child, parent: threadId, root: threadId, entry })
    const terminated = fixture.threads.get(child).terminate()
    await until('a refusal', async () => (await taken(thread)).refused > 0)
    await know(thread, id)
    await terminated
    // Its workflow is started, only to report its end.
    expect((await taken(thread)).taken).toEqual([{ id, names: [] }])
    expect(await rowOf(thread, id)).toMatchObject({ status: 'closed' })
    const [registered] = (await thread.snapshot()).children
    expect(registered).toMatchObject({ reference: child, status: 'terminated' })
  })

  test('an empty text and a name nobody asked for are refused', async () => {
    const { thread, id } = await asked(request)
    const refused = (env: Readonly<Record<string, string>>) =>
      expect(thread.respond(id, { env })).rejects.toThrow
    await refused({ KEY: '' })(`Expected values for request "${id}", got an empty text for KEY`)
    await refused({ KEY: 'a', TOKEN: 'b' })(`asks for (KEY), got also TOKEN: setEnv takes any variable`)
    expect(await thread.request(id)).toMatchObject({ missing: ['KEY'] })
  })

  test('with other values are another answer', async () => {
    const { thread, id } = await asked(request)
    await know(thread, id)
    await thread.respond(id, { env: { KEY: 'a' } })
    await expect(thread.respond(id, { env: { KEY: 'b' } })).rejects.toMatchObject({
      code: 'request_not_found',
    })
  })

  test('are taken when a later run has looked again', async () => {
    const { thread, id } = await asked(request)
    const responded = thread.respond(id, { env: { KEY: 'a' } })
    await until('a refusal', async () => (await taken(thread)).refused > 0)
    const run = { thread_id: thread.threadId, number: 2, trigger_kind: 'variables', started_at: 9_000 }
    await fixture.store.write((tx) => insertRun(tx, { ...run, steps: 0 }))
    await responded
  })
})

test('without a worker the answer is kept and says so', async () => {
  const thread = await fixture.threads.create({ agent: 'support' })
  const id = await askRequest(fixture.store, { thread: thread.threadId })
  await expect(thread.respond(id, { approved: true })).rejects.toMatchObject({
    code: 'no_worker',
    taskQueue: fixture.taskQueue,
  })
  expect(await rowOf(thread, id)).toMatchObject({ status: 'answered', approved: true })
  await startWorker()
  await know(thread, id)
  // Also in another process: nothing of the first try is needed.
  await thread.respond(id, { approved: true })
  expect((await taken(thread)).taken).toEqual([{ id, approved: true }])
})

async function startWorker(): Promise<void> {
  worker = await Worker.create({ connection, taskQueue: fixture.taskQueue, workflowsPath })
  running = worker.run()
}

async function asked(
  request: Omit<AskedRequest, 'thread'> = {},
): Promise<{ thread: ThreadHandle; id: string }> {
  await startWorker()
  const thread = await fixture.threads.create({ agent: 'support' })
  return { thread, id: await askRequest(fixture.store, { thread: thread.threadId, ...request }) }
}

function know(thread: ThreadHandle, id: string): Promise<void> {
  return thread.workflow.signal<[string]>('know', id)
}

function taken(thread: ThreadHandle): Promise<{ taken: readonly object[]; refused: number }> {
  return thread.workflow.query('taken')
}

function rowOf(thread: ThreadHandle, id: string) {
  return fixture.store.read((db) => findRequest(db, thread.threadId, id))
}

async function finishCall(thread: ThreadHandle, status: 'succeeded' | 'interrupted'): Promise<void> {
  const call = { threadId: thread.threadId, callId: 'call_1_1_0', status, now: 9 }
  await fixture.store.write((tx) => finishToolCall(tx, call))
}

/** T5: neither reasons, names, results nor values are in the history. */
async function leaksNothing(thread: ThreadHandle): Promise<void> {
  const runs = await recordedRuns(fixture.threads.temporal, thread.threadId)
  expect(searchForContent(runs).leaks).toEqual([])
}
