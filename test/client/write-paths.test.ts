/** The line between what the runtime has recorded and those who look at it: they read, and send commands. */
import { isDeepStrictEqual } from 'node:util'

import { beforeEach, expect, test } from 'vitest'

import { ThreadClient } from '../../src/client/index.js'
import type { ThreadHandle } from '../../src/client/index.js'
import { fact } from '../../src/protocol/facts.js'
import { insertEffect } from '../../src/store/threads/effects.js'
import { recordError } from '../../src/store/errors.js'
import { deliverMessages } from '../../src/store/messages/delivery.js'
import { appendEvents } from '../../src/store/events.js'
import { insertRun } from '../../src/store/threads/runs.js'
import type { Schema } from '../../src/store/schema.js'
import { addChildRows } from '../support/child-rows.js'
import { collect, servedFixture } from './client-fixture.js'
import { askRequest } from './request-rows.js'

const fixture = servedFixture()
let thread: ThreadHandle
let request: string

/** A thread that a worker was running, as that worker left it. */
beforeEach(async () => {
  thread = await fixture.threads.create({ agent: 'support', id: 't' })
  await fixture.store.write(async (tx) => {
    await insertRun(tx, { thread_id: 't', number: 1, trigger_kind: 'message', started_at: 1 })
    const started = fact('run.started', { trigger: 'message' }, { runId: 'run_1' })
    await appendEvents(tx, { threadId: 't', events: [started], now: 2 })
    await recordError(tx, { id: 'e', threadId: 't', at: 3, type: 'Error', message: 'x', stack: null })
    const effect = { thread_id: 't', id: 'effect', name: 'tell', args: {} }
    await insertEffect(tx, { ...effect, due_at: 9e15, created_at: 1 })
  })
  request = await askRequest(fixture.store, { thread: 't' })
  await addChildRows(fixture.store, { id: 'child', parent: 't', root: 't' })
  await thread.writeFile('/kept', 'kept', 'text/plain')
})

const READS: Readonly<Record<string, (threads: ThreadClient) => unknown>> = {
  sessions: (threads) => Promise.all([threads.sessions.get('t'), threads.sessions.list({ state: 'active' })]),
  artifacts: () => thread.artifacts(),
  boundaries: () => thread.boundaries(),
  capabilities: (threads) => threads.capabilities(),
  children: () => thread.children(),
  diagnostics: () => thread.diagnostics(),
  queue: () => thread.queue(),
  readModel: () => thread.readModel(),
  result: () => thread.result(),
  resumeUIMessages: () => thread.resumeUIMessages({ signal: AbortSignal.abort() }),
  uiMessages: () => thread.uiMessages(),
  agents: (threads) => collect(threads.agents()),
  doctor: (threads) => collect(threads.doctor()),
  errors: () => thread.errors(),
  decisions: () => thread.decisions(),
  events: () => collect(thread.events({ follow: false })),
  find: (threads) => threads.find('t'),
  grants: (threads) => threads.grants(),
  list: (threads) => collect(threads.list()),
  message: () => thread.message('m'),
  messages: () => thread.messages(),
  owner: (threads) => threads.owner('t'),
  page: (threads) => threads.page(),
  pending: (threads) => collect(threads.pending()),
  pendingPage: (threads) => threads.pendingPage(),
  budget: () => thread.budget(),
  budgets: (threads) => threads.budgets({ account: 'acme' }),
  permissions: (threads) => Promise.all([threads.permissions({ account: 'acme' }), thread.permissions()]),
  counts: (threads) => threads.counts(),
  readFile: () => thread.readFile('/kept'),
  readFileStream: () => thread.readFileStream('/kept'),
  readdirFile: () => thread.readdirFile('/'),
  request: () => thread.request(request),
  snapshot: () => thread.snapshot(),
  statFile: () => thread.statFile('/kept'),
  storeId: (threads) => threads.storeId(),
  taskQueue: (threads) => threads.taskQueue(),
  toolCall: () => thread.toolCall('none'),
  tools: () => thread.tools(),
  tree: () => thread.tree(),
  routing: () => thread.routing(),
  runContext: () => thread.runContext(),
  usage: () => thread.usage({ tree: true }),
  view: () => collect(thread.view('ar', { follow: false })),
  waitUntilIdle: () => thread.waitUntilIdle({ timeout: 100 }).catch(() => null),
}

interface Control {
  /** Methods of a client and of its threads. */
  readonly of: readonly string[]
  /** Tables in which it leaves what it asks for. */
  readonly writes: readonly string[]
  run(threads: ThreadClient): Promise<unknown>
}

const COMMANDS: readonly Control[] = [
  {
    of: ['create'],
    writes: ['threads', 'events'],
    run: (threads) => threads.create({ agent: 'support', id: 'u' }),
  },
  {
    of: ['send'],
    // The thread is about to work.
    writes: ['threads', 'messages'],
    run: () => Promise.all(['m', 'n'].map((id) => thread.send({ id, content: 'Hello' }))),
  },
  {
    of: ['submitUIMessages'],
    // The thread is about to work already.
    writes: ['messages'],
    run: () =>
      thread.submitUIMessages(
        { messages: [{ id: 'o', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }] },
        { signal: AbortSignal.abort() },
      ),
  },
  {
    of: ['queueTool'],
    writes: ['messages', 'tool_calls'],
    run: () => thread.queueTool('count', {}, { id: 'q' }),
  },
  {
    of: ['setPermissions'],
    writes: ['owner_permissions'],
    run: (threads) => threads.setPermissions({ account: 'acme' }, { '*': 'deny' }),
  },
  {
    of: ['setBudgets'],
    writes: ['owner_budgets'],
    run: (threads) => threads.setBudgets({ account: 'acme' }, { day: { maxCost: 1 } }),
  },
  {
    of: ['once'],
    writes: ['threads', 'events', 'variables', 'commands'],
    run: () => thread.once('key').setEnv({ OTHER: 'value' }),
  },
  { of: ['setEnv'], writes: ['threads', 'events', 'variables'], run: () => thread.setEnv({ KEY: 'value' }) },
  {
    of: ['writeFile'],
    writes: ['threads', 'files', 'blobs', 'events'],
    run: () => thread.writeFile('/new', 'new', 'text/plain'),
  },
  { of: ['unlinkFile'], writes: ['threads', 'files', 'events'], run: () => thread.unlinkFile('/new') },
  { of: ['stop', 'continue'], writes: ['stops'], run: () => Promise.all([thread.stop(), thread.continue()]) },
  {
    // Each waits ten seconds for the workflow. A promotion leaves nothing.
    of: ['promote', 'cancel'],
    writes: ['threads', 'messages', 'events'],
    run: () => Promise.allSettled([thread.promote('m'), thread.cancel('n')]),
  },
  {
    // Each waits ten seconds for the workflow, for which no worker answers.
    of: ['respond', 'removeQueued', 'terminate'],
    writes: ['threads', 'messages', 'events', 'pending', 'grants', 'stops'],
    run: (threads) =>
      Promise.allSettled([
        thread.respond(request, { approved: true, remember: { for: 'thread' } }),
        thread.removeQueued('m'),
        threads.get('u').terminate(),
      ]),
  },
  {
    // Of `sessions`, whose other methods are reads.
    of: [],
    writes: ['threads', 'thread_tags', 'events'],
    run: (threads) => threads.sessions.update('t', { title: 'A refund', tags: ['vip'] }),
  },
  {
    of: ['compact'],
    writes: ['boundaries'],
    run: () => thread.compact(),
  },
  {
    of: ['revokeGrant'],
    // With the event that the policy of the thread has changed.
    writes: ['threads', 'events', 'grants'],
    run: (threads) => threads.revokeGrant(`t:${request}`),
  },
]

/** Repairs, removals and subscriptions by operators, and calls of tool workers, who are a part of the runtime. */
const OF_OTHERS = ['deleteThread', 'reopen', 'sweep', 'remoteCalls', 'webhooks', 'logins']
/** They write rows of a thread of their own. */
const FORKS = ['fork', 'regenerate']
/** Without a call. */
const OF_THE_PROCESS = ['close', 'constructor', 'get', 'temporal', 'threadId', 'workflow']

test('AR-S1.0 what a client has is a read or a control command', () => {
  const methods = new Set([...Object.getOwnPropertyNames(ThreadClient.prototype), ...Object.keys(thread)])
  const known = [...Object.keys(READS), ...COMMANDS.flatMap((command) => command.of)]
  expect([...methods].toSorted()).toEqual([...known, ...FORKS, ...OF_OTHERS, ...OF_THE_PROCESS].toSorted())
})

test('AR-S1.0 no read of a client writes', async () => {
  const before = await rows()
  for (const [name, read] of Object.entries(READS)) {
    await read(fixture.threads)
    expect(await rows(), name).toEqual(before)
  }
})

test('AR-S1.0 a command is written beside what the runtime has recorded, which stays', async () => {
  for (const { of, writes, run } of COMMANDS) {
    const before = await rows()
    await run(fixture.threads)
    const after = await rows()
    const written = Object.keys(after).filter((table) => !isDeepStrictEqual(after[table], before[table]))
    expect(written, String(of)).toEqual(writes)
    expect(recorded(after), String(of)).toEqual(expect.arrayContaining([...recorded(before)]))
  }
  // What came is asked for: the transcript, its runs and their steps are as they were.
  const { messages = [], tool_calls: calls = [], events = [] } = await rows()
  expect(messages.filter(({ position }) => position !== null)).toHaveLength(1)
  expect(calls.filter(({ run }) => run !== 0)).toHaveLength(1)
  const types = events.flatMap((row) =>
    (JSON.parse(String(row['events'])) as string[][]).map(([type]) => type),
  )
  const started = ['thread.started', 'session.created']
  const before = [...started, 'run.started', 'file.changed']
  const set = [...started, 'variables.changed', 'variables.changed', 'file.changed', 'file.changed']
  const ended = ['message.ended', 'message.ended', 'queue.changed', 'queue.changed', 'thread.terminating']
  // A grant was given, and revoked. Commands that wait for a workflow run at the same time.
  const others = ['session.updated', 'policy.changed', 'policy.changed']
  expect(counted(types)).toEqual(counted([...before, ...set, ...ended, ...others]))
})

test('AR-S1.0 forks leave their origin as it is', async () => {
  const ofOrigin = async (): Promise<object> =>
    Object.fromEntries(
      Object.entries(await rows()).map(([table, all]) => [
        table,
        all.filter(({ thread_id: threadId, id }) => threadId === 't' || (table === 'threads' && id === 't')),
      ]),
    )
  // What a person has asked, and was taken.
  await thread.send({ id: 'asked', content: 'Hello' })
  await fixture.store.write((tx) => deliverMessages(tx, { threadId: 't', ids: ['asked'], run: 1, step: 1 }))
  const before = await ofOrigin()
  await fixture.threads.fork('t', { id: 'way' })
  await thread.regenerate({ id: 'other-way' })
  expect(await ofOrigin()).toEqual(before)
  expect((await fixture.threads.find('way'))?.forkedFrom).toMatchObject({ threadId: 't' })
})

function counted(types: readonly (string | undefined)[]): object {
  const counts: Record<string, number> = {}
  for (const type of types) counts[type ?? ''] = (counts[type ?? ''] ?? 0) + 1
  return counts
}

/** Rows of what happened, without those that say what is asked for. */
function recorded(tables: Tables): readonly object[] {
  const asked = new Set(['threads', 'pending', 'grants', 'variables', 'files', 'blobs'])
  return Object.entries(tables)
    .filter(([table]) => !asked.has(table))
    .flatMap(([, all]) => all.filter((row) => row['status'] !== 'pending'))
}

type Tables = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>

const TABLES = {
  ...{ threads: true, thread_tags: true, messages: true, tool_calls: true, operations: true, runs: true },
  ...{ children: true, files: true, blobs: true, thread_values: true, plans: true, events: true },
  ...{
    deltas: true,
    errors: true,
    pending: true,
    grants: true,
    effects: true,
    variables: true,
    boundaries: true,
  },
  ...{ agents: true, stops: true, owner_permissions: true, rate_windows: true, busy_sessions: true },
  ...{ owner_budgets: true, spending: true, webhooks: true, commands: true, logins: true },
} satisfies Readonly<Record<Exclude<keyof Schema, 'commits' | 'workers'>, true>>

async function rows(): Promise<Tables> {
  const all = Object.keys(TABLES).map(async (table) => {
    const found = await fixture.store.read((db) =>
      db
        .selectFrom(table as keyof typeof TABLES)
        .selectAll()
        .execute(),
    )
    return [table, found] as const
  })
  return Object.fromEntries(await Promise.all(all))
}
