import { mkdtemp, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import { expect, test } from 'vitest'
import { doctor as doctorCommand, sweep as sweepCommand } from '../../src/cli/run-command.js'
import type { Terminal } from '../../src/cli/terminal.js'
import { checkStore, examine } from '../../src/client/doctor/examine.js'
import { ThreadClient } from '../../src/client/index.js'
import type { Examine, Finding, ThreadHandle } from '../../src/client/index.js'
import { TemporalUnavailableError } from '../../src/index.js'
import { findRequest, insertRequest } from '../../src/store/calls/requests.js'
import { putFile } from '../../src/store/files/files.js'
import { stageMessage } from '../../src/store/messages/message-writes.js'
import { renewStoreId } from '../../src/store/migrations/schema-version.js'
import { openStore } from '../../src/store/open-store.js'
import type { Writer } from '../../src/store/store.js'
import { findChild, insertChild } from '../../src/store/threads/children.js'
import { deleteThreadRows, markDeleting } from '../../src/store/threads/retention.js'
import { insertRun } from '../../src/store/threads/runs.js'
import { findThread, insertThread, updateThread } from '../../src/store/threads/threads.js'
import { makePlace } from '../support/test-store.js'
import { until } from '../support/until.js'
import { collect, servedFixture } from './client-fixture.js'
import { NO_EXCEPTIONS } from '../../src/egress/addresses.js'

const fixture = servedFixture()

async function findings(options: Examine = {}): Promise<readonly Finding[]> {
  return collect(fixture.threads.doctor(options))
}

/** What it finds, what a repair says of it, and what is left then. */
async function treated(options: Examine = { fix: true }) {
  const found = await findings()
  expect(found.every(({ fixed }) => !fixed)).toBe(true)
  const after = await findings(options)
  return { found, repaired: after, left: await findings() }
}

async function started(): Promise<ThreadHandle> {
  const thread = await fixture.threads.create({ agent: 'support' })
  await store((tx) =>
    insertRun(tx, {
      thread_id: thread.threadId,
      number: 1,
      trigger_kind: 'message',
      started_at: 1,
      ended_at: 2,
    }),
  )
  return thread
}

function store<T>(work: (tx: Writer) => Promise<T>): Promise<T> {
  return fixture.store.write(work)
}

const row = (id: string) => fixture.store.read((db) => findThread(db, id))

test('a store and a server that agree have no findings', async () => {
  await fixture.threads.create({ agent: 'support', message: 'Hello' })
  await (await started()).send('More')
  expect(await findings({ fix: true, reopen: true })).toEqual([])
})

test('a lost thread is reopened only if that is asked for', async () => {
  const thread = await started()
  await thread.workflow.terminate('operator')
  const { threadId } = thread
  const { found, repaired } = await treated()
  expect(found).toMatchObject([{ kind: 'lost', threadId, problem: expect.stringContaining('terminated') }])
  expect(repaired).toEqual(found)
  expect(await findings({ reopen: true })).toEqual(found)
  expect(await findings({ fix: true, reopen: true })).toMatchObject([{ kind: 'lost', threadId, fixed: true }])
  expect((await thread.workflow.describe()).status.name).toBe('RUNNING')
  expect(await findings()).toEqual([])
})

test('where Temporal knows no thread nothing is repaired', async () => {
  const ids = ['elsewhere-1', 'elsewhere-2']
  await store(async (tx) => {
    for (const id of ids) {
      await insertThread(tx, { id, agent: 'support', created_at: 1 })
      await insertRun(tx, { thread_id: id, number: 1, trigger_kind: 'message', started_at: 1 })
    }
  })
  const before = await row('elsewhere-1')
  const problem = 'The namespace "default" has none of the 2 open threads that have run'
  expect(await findings({ fix: true, reopen: true })).toMatchObject([
    { kind: 'wrong_namespace', threadId: null, problem, fixed: false },
  ])
  expect(await row('elsewhere-1')).toEqual(before)
  const emptied = await findings({ fix: true, reopen: true, emptied: true })
  expect(emptied).toMatchObject(ids.map((threadId) => ({ kind: 'lost', threadId, fixed: true })))
})

test('lost parents are reopened before their children', async () => {
  const parent = await started()
  const child = {
    id: 'a-child',
    agent: 'x',
    parent_thread_id: parent.threadId,
    parent_call_id: 'call_1_1_0',
    depth: 1,
  }
  await store(async (tx) => {
    await insertThread(tx, { ...child, created_at: 1 })
    await insertRun(tx, { thread_id: child.id, number: 1, trigger_kind: 'message', started_at: 1 })
  })
  await parent.workflow.terminate('operator')
  expect(await findings({ fix: true, reopen: true })).toMatchObject([
    { threadId: parent.threadId, fixed: true },
    { threadId: child.id, fixed: true },
  ])
  expect(await findings()).toEqual([])
})

test('a terminated thread whose workflow was killed is closed', async () => {
  const thread = await started()
  await thread.terminate({ reason: 'enough' })
  await thread.workflow.terminate('operator')
  const { found, left } = await treated()
  expect(found).toMatchObject([{ kind: 'unclosed', threadId: thread.threadId }])
  expect(left).toEqual([])
  expect(await row(thread.threadId)).toMatchObject({ status: 'terminated', terminate_reason: 'enough' })
})

test('a termination that nobody heard is told again', async () => {
  const thread = await started()
  await store((tx) => updateThread(tx, thread.threadId, { terminate_requested_at: 1 }))
  const { found, repaired } = await treated()
  expect(found).toMatchObject([{ kind: 'unclosed', threadId: thread.threadId }])
  expect(repaired).toMatchObject([{ fixed: true }])
  const { events } = await thread.workflow.fetchHistory()
  expect(events?.some((event) => event.workflowExecutionCancelRequestedEventAttributes != null)).toBe(true)
})

test('T8 a child of a closed parent is ended', async () => {
  const child = await started()
  await store(async (tx) => {
    await insertThread(tx, { id: 'closed-parent', agent: 'x', created_at: 1, closed_at: 2 })
    await updateThread(tx, child.threadId, { parent_thread_id: 'closed-parent' })
  })
  const { found, repaired } = await treated()
  expect(found).toMatchObject([{ kind: 'orphan', threadId: child.threadId }])
  expect(repaired).toMatchObject([{ kind: 'orphan', fixed: true }])
  expect((await row(child.threadId))?.terminate_requested_at).not.toBeNull()
})

test('a message for a thread that was never started starts it', async () => {
  await store(async (tx) => {
    await insertThread(tx, { id: 'unstarted', agent: 'support', created_at: 1 })
    const draft = { id: 'waits', threadId: 'unstarted', role: 'user', content: 'x', digest: 'x' } as const
    await stageMessage(tx, { ...draft, createdAt: 1, sentBy: 'client' })
  })
  const { found, repaired } = await treated()
  expect(found).toMatchObject([{ kind: 'unsignalled', threadId: 'unstarted' }])
  expect(repaired).toMatchObject([{ fixed: true }])
  const { events } = await fixture.threads.get('unstarted').workflow.fetchHistory()
  const signals = events?.flatMap((event) => event.workflowExecutionSignaledEventAttributes?.signalName ?? [])
  expect(signals).toEqual(['queueMessage'])
})

test('without a worker nobody says what a thread knows', async () => {
  const thread = await fixture.threads.create({ agent: 'support', message: 'Hello' })
  await store((tx) => tx.updateTable('messages').set({ created_at: 1 }).execute())
  expect(await findings({ fix: true })).toMatchObject([
    { kind: 'unasked', threadId: thread.threadId, fixed: false },
  ])
})

test('a workflow task that fails again and again is found', async () => {
  const thread = await started()
  const { temporal } = fixture.threads
  const { workflowService, options } = temporal
  const { namespace } = options
  const taskQueue = { name: fixture.taskQueue }
  for (let times = 0; times < 5; times += 1) {
    const poll = { namespace, taskQueue, identity: 'test' }
    const { taskToken } = await temporal.withDeadline(Date.now() + 60_000, () =>
      workflowService.pollWorkflowTaskQueue(poll),
    )
    await workflowService.respondWorkflowTaskFailed({ namespace, taskToken, identity: 'test' })
  }
  expect(await findings({ fix: true })).toMatchObject([
    { kind: 'task_failing', threadId: thread.threadId, fixed: false },
  ])
})

test('an event that is missing is found, and stays missing', async () => {
  const thread = await started()
  await store((tx) => tx.deleteFrom('events').where('thread_id', '=', thread.threadId).execute())
  expect(await findings({ fix: true })).toMatchObject([
    { kind: 'numbers', threadId: thread.threadId, fixed: false, problem: expect.stringContaining('2 of 2') },
  ])
})

test('a position that was never given is found', async () => {
  const thread = await fixture.threads.create({ agent: 'support', message: 'Hello' })
  await store((tx) => tx.updateTable('messages').set({ position: 7 }).execute())
  expect(await findings()).toMatchObject([{ kind: 'numbers', threadId: thread.threadId }])
})

test('a request of a closed thread is closed', async () => {
  await store(async (tx) => {
    await insertThread(tx, { id: 'closed', agent: 'x', created_at: 1, closed_at: 2 })
    await insertRequest(tx, { thread_id: 'closed', id: 'q', kind: 'call', requested_at: 1 })
  })
  const { found, left } = await treated()
  expect(found).toMatchObject([{ kind: 'open_request', threadId: 'closed' }])
  expect(left).toEqual([])
  expect(await fixture.store.read((db) => findRequest(db, 'closed', 'q'))).toMatchObject({ status: 'closed' })
})

test('a registry that has a closed child as open is mended', async () => {
  const parent = await started()
  const of = { parent_thread_id: parent.threadId, agent: 'x', created_at: 1 }
  await store(async (tx) => {
    await insertThread(tx, { ...of, id: 'ended', closed_at: 2, status: 'completed' })
    const words = { name: 'x', description: '', resumable: true, blocking: false, status: 'running' }
    await insertChild(tx, { ...of, ...words, reference: 'ended', call_id: 'call_1_1_0' })
  })
  const { found, left } = await treated()
  expect(found).toMatchObject([{ kind: 'untold_child', threadId: parent.threadId }])
  expect(left).toEqual([])
  const entry = await fixture.store.read((db) => findChild(db, parent.threadId, 'ended'))
  expect(entry).toMatchObject({ status: 'completed', closed_at: expect.any(Number) })
})

test('a deletion that was cut off is finished', async () => {
  await store(async (tx) => {
    const of = { agent: 'x', created_at: 1, closed_at: 2 }
    await insertThread(tx, { ...of, id: 'half' })
    for (const id of ['half-gone', 'half-left'])
      await insertThread(tx, { ...of, id, parent_thread_id: 'half' })
    await markDeleting(tx, 'half')
  })
  await deleteThreadRows(fixture.store, 'half-gone')
  const { found, left } = await treated()
  expect(found).toMatchObject([{ kind: 'half_deleted', threadId: 'half' }])
  expect(left).toEqual([])
  for (const id of ['half', 'half-left']) expect(await row(id)).toBeNull()
})

test('bytes without a name, and names without bytes', async () => {
  // A folder, whose times a test can set.
  const folder = await mkdtemp(join(tmpdir(), 'everthread-doctor-'))
  const store = await openStore({ database: join(folder, 'threads.db'), blobs: join(folder, 'blobs') })
  try {
    const context = { ...unreachable, store: () => Promise.resolve(store) }
    const look = (fix: boolean) => collect(checkStore({ context, fix, reopen: false }))
    const write = (text: string) => store.blobs.write(Buffer.from(text))
    await store.write((tx) => insertThread(tx, { id: 'files', agent: 'x', created_at: 1 }))
    const { digest, size } = await write('named')
    const file = { threadId: 'files', path: '/a.txt', mimeType: 'text/plain', size, blob: digest, now: 1 }
    await store.write((tx) => putFile(tx, file))
    const young = await write('young')
    expect(await look(true)).toEqual([])
    await store.blobs.delete(digest)
    const path = join(folder, 'blobs', young.digest.slice(0, 2), young.digest.slice(2, 4), young.digest)
    await utimes(path, 1, 1)
    expect(await look(false)).toMatchObject([
      { kind: 'missing_blob', threadId: 'files', fixed: false },
      { kind: 'unused_blobs', threadId: null, fixed: false },
    ])
    expect(await look(true)).toMatchObject([{ kind: 'missing_blob' }, { kind: 'unused_blobs', fixed: true }])
    expect(await look(true)).toMatchObject([{ kind: 'missing_blob', fixed: false }])
    expect(await store.blobs.read(young.digest)).toBeNull()
  } finally {
    await store.close()
    await rm(folder, { recursive: true, force: true })
  }
})

const refuse = (): never => {
  throw new Error('Expected that the store is enough.')
}
const unreachable = {
  taskQueue: () => Promise.resolve('none'),
  temporal: refuse,
  call: refuse,
  searchAttributes: refuse,
  onNotice: refuse,
  storesStops: true,
  egress: NO_EXCEPTIONS,
}

function terminal() {
  const lines: string[] = []
  const shown: Terminal = {
    write: refuse,
    line: (text = '') => void lines.push(text),
    problem: (text) => void lines.push(`! ${text}`),
    ask: refuse,
    onInterrupt: refuse,
    onKey: refuse,
    takeStreams: () => {
      throw new Error('Expected a terminal.')
    },
  }
  return { lines, shown }
}

async function command(flags: Readonly<Record<string, string | boolean>>, which = doctorCommand) {
  const { lines, shown } = terminal()
  const code = await which.run({ threads: fixture.threads, terminal: shown }, { arguments: [], flags })
  return { lines, code: code ?? 0 }
}

test('threads of another store on the task queue are named', async () => {
  const { place, remove } = await makePlace()
  const { taskQueue } = fixture
  const other = new ThreadClient({ client: fixture.threads.temporal, taskQueue, store: place })
  try {
    for (const id of ['foreign-1', 'foreign-2']) await other.create({ agent: 'support', id })
    const found = await until('both', async () => {
      const seen = await findings({ fix: true })
      return seen[0]?.problem.startsWith('2 open threads') === true && seen
    })
    const store = await other.storeId()
    expect(found).toMatchObject([{ kind: 'other_store', threadId: null, fixed: false }])
    expect(found[0]?.problem).toBe(
      `2 open threads on the task queue "${taskQueue}" belong to the store ${store}, and this store is ${fixture.store.id}`,
    )
    expect(found[0]?.remedy).toContain(`"everthread-${fixture.store.id}"`)
  } finally {
    await other.close()
    await remove()
  }
})

test('a copy of a database repairs nothing of the original', async () => {
  const thread = await started()
  // What a repair would end for good.
  await store((tx) => updateThread(tx, thread.threadId, { terminate_requested_at: 1 }))
  const original = fixture.store.id
  const id = await store(renewStoreId)
  const copy = await openStore(fixture.place)
  try {
    const { temporal } = fixture.threads
    const context = {
      ...unreachable,
      store: () => Promise.resolve(copy),
      temporal: () => temporal,
      call: <T>(_: number, work: () => Promise<T>) => work(),
    }
    expect([copy.id, id === original]).toEqual([id, false])
    expect(await collect(examine(context, { fix: true, reopen: true }))).toMatchObject([
      {
        kind: 'other_store',
        threadId: thread.threadId,
        problem: `Its workflow belongs to the store ${original}, and this store is ${id}`,
        fixed: false,
      },
    ])
    expect((await thread.workflow.describe()).status.name).toBe('RUNNING')
  } finally {
    await copy.close()
  }
})

test('the command ends with 1 while something is left', async () => {
  const place = `Store ${fixture.store.id}, task queue "${fixture.taskQueue}".`
  expect(await command({})).toEqual({ code: 0, lines: [place, 'Store and Temporal agree.'] })
  const thread = await started()
  await thread.workflow.terminate('operator')
  const found = await command({ fix: true })
  expect(found.code).toBe(1)
  expect(found.lines[1]).toContain(`left  lost ${thread.threadId}`)
  expect(found.lines.at(-1)).toBe('1 found, 0 fixed, 1 left.')
  const json = await command({ json: true })
  expect(json.lines.map((line) => JSON.parse(line))).toMatchObject([{ kind: 'lost', fixed: false }])
  expect(await command({ fix: true, reopen: true })).toMatchObject({ code: 0 })
})

test('the sweep command says what it deleted', async () => {
  await store((tx) => insertThread(tx, { id: 'old', agent: 'x', created_at: 1, closed_at: 2 }))
  const dry = await command({ 'closed-for': '90d', 'dry-run': true }, sweepCommand)
  expect(dry.lines[0]).toBe('threads: 1 in 1 trees would be deleted')
  const done = await command({ 'closed-for': '90d' }, sweepCommand)
  expect(done.lines[0]).toBe('threads: 1 in 1 trees deleted')
  await expect(command({}, sweepCommand)).rejects.toThrow('--closed-for')
  // A bare number would be milliseconds.
  await expect(command({ 'closed-for': '90' }, sweepCommand)).rejects.toThrow('with a unit')
})

test.each(['no', 'a'])('a namespace that is not there is no agreement, with %s thread', async (how) => {
  if (how === 'a') await started()
  const connection = Connection.lazy({ address: fixture.address })
  const client = new Client({ connection, namespace: 'elsewhere' })
  const context = { ...unreachable, store: () => Promise.resolve(fixture.store) }
  const elsewhere = {
    ...context,
    temporal: () => client,
    call: <T>(_: number, work: () => Promise<T>) => work(),
  }
  await expect(collect(examine(elsewhere))).rejects.toSatisfy(TemporalUnavailableError.isInstance)
  await connection.close()
})
