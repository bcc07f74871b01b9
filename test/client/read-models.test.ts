/** Reads of a thread that answer one question each, in a bounded answer, and say what they cannot. */
import { beforeEach, describe, expect, test } from 'vitest'
import { ThreadClient } from '../../src/client/index.js'
import type { ThreadHandle } from '../../src/client/index.js'
import { createThreadApp } from '../../src/server/index.js'
import { fact } from '../../src/protocol/facts.js'
import { recordError } from '../../src/store/errors.js'
import { appendEvents } from '../../src/store/events.js'
import { insertBoundary } from '../../src/store/messages/context-boundaries.js'
import { stageMessage } from '../../src/store/messages/message-writes.js'
import { insertChild } from '../../src/store/threads/children.js'
import { insertRun } from '../../src/store/threads/runs.js'
import { insertThread, updateThread } from '../../src/store/threads/threads.js'
import { UNAVAILABLE } from '../../src/views/capabilities.js'
import { collect, servedFixture } from './client-fixture.js'
import { askRequest } from './request-rows.js'

const token = 'token-of-an-operator'
const ACME = 'token-of-account-acme'
const fixture = servedFixture()
let thread: ThreadHandle
let request: string

/** A thread that a worker was running, as that worker left it; its workflow is gone. */
beforeEach(async () => {
  await fixture.store.write(async (tx) => {
    await insertThread(tx, { id: 't', agent: 'support', account: 'acme', created_at: 1 })
    await insertRun(tx, { thread_id: 't', number: 1, trigger_kind: 'message', started_at: 1 })
    await updateThread(tx, 't', { status: 'running' })
    const scope = { runId: 'run_1', stepId: 'step_1_1' }
    const failed = { name: 'refund', outcome: 'failed', errorCode: 'threw', errorId: 'e' } as const
    const events = [
      fact('run.started', { trigger: 'message' }, scope),
      fact('tool.result', failed, { ...scope, toolCallId: 'call_1_1_0' }),
      fact('runtime.warning', { code: 'effects_full' }, scope),
    ]
    await appendEvents(tx, { threadId: 't', events, now: 2 })
    await recordError(tx, {
      id: 'e',
      threadId: 't',
      at: 3,
      type: 'tool.threw',
      message: 'secret text',
      stack: null,
    })
    const cut = { opening: null, clipped: 4, dropped: 7, cuts: 0 }
    await insertBoundary(tx, {
      ...{ threadId: 't', side: 'a', position: 8, kind: 'window', operation: 'model_1_1', detail: cut },
      ...{ tokensBefore: 900, tokensAfter: 400, createdAt: 4 },
    })
  })
  thread = fixture.threads.get('t')
  await thread.writeFile('/a/notes.txt', 'A note', 'text/plain')
  request = await askRequest(fixture.store, { thread: 't' })
})

/** Messages of different senders that wait. */
async function queueMessages(count: number): Promise<void> {
  await fixture.store.write(async (tx) => {
    for (let index = 0; index < count; index += 1)
      await stageMessage(tx, {
        ...{ id: `m${index}`, threadId: 't', role: 'user', content: `Text ${index}`, createdAt: 10 + index },
        ...{ sentBy: index === 0 ? 'client' : 'tool', digest: '' },
        ...(index === 1 && { deliver: 'next_turn' as const }),
      })
  })
}

describe('the queue', () => {
  test('AR-SN.4 has ids, order, source, policy of delivery and when it goes on', async () => {
    await queueMessages(3)
    const queue = await thread.queue({ limit: 2 })
    expect(queue).toEqual({
      threadId: 't',
      items: [
        {
          id: 'm0',
          kind: 'message',
          place: 1,
          preview: 'Text 0',
          queuedAt: 10,
          source: 'client',
          deliver: 'next_step',
        },
        {
          id: 'm1',
          kind: 'message',
          place: 2,
          preview: 'Text 1',
          queuedAt: 11,
          source: 'tool',
          deliver: 'next_turn',
        },
      ],
      ...{ waiting: 3, resumes: 'reopen', stale: true, at: expect.any(Number) },
    })
    await fixture.store.write((tx) => updateThread(tx, 't', { closed_at: 5, status: 'completed' }))
    expect(await thread.queue()).toMatchObject({ resumes: 'never' })
    await expect(thread.queue({ limit: 0 })).rejects.toMatchObject({ name: 'ConfigError' })
  })
})

describe('ten thousand subagents', () => {
  const ALL = 10_000
  beforeEach(async () => {
    await fixture.store.write(async (tx) => {
      for (let index = 0; index < ALL; index += 1)
        await insertChild(tx, {
          ...{ parent_thread_id: 't', reference: `c${index}`, call_id: 'call', agent: 'a', name: 'a' },
          ...{
            description: 'd',
            resumable: index % 3 === 0,
            blocking: false,
            created_at: index + 1,
            status: 'running',
          },
        })
    })
  })

  test('are in pages, each once and in order; the snapshot has the first 50, their number, and takes milliseconds', async () => {
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await thread.children({ limit: 500, ...(cursor !== undefined && { cursor }) })
      expect(page.count).toBe(ALL)
      expect(page.children.length).toBeLessThanOrEqual(500)
      seen.push(...page.children.map(({ reference }) => reference))
      cursor = page.next ?? undefined
    } while (cursor !== undefined)
    expect(seen).toEqual(Array.from({ length: ALL }, (_, index) => `c${index}`))
    const { children, childCount } = await thread.snapshot()
    expect([children.map(({ reference }) => reference), childCount]).toEqual([seen.slice(0, 50), ALL])
    // Without the query of the workflow, which is not there.
    await fixture.store.write((tx) => updateThread(tx, 't', { closed_at: 5, status: 'completed' }))
    const times: number[] = []
    for (let round = 0; round < 30; round += 1) {
      const begin = performance.now()
      await thread.snapshot()
      times.push(performance.now() - begin)
    }
    // The others say how busy the machine is.
    expect(Math.min(...times)).toBeLessThan(10)
  })
})

test('AR-SN.7 artifacts have references, versions and counts, and say what is not kept of them', async () => {
  const first = await thread.artifacts()
  expect(first).toMatchObject({
    newest: [{ path: '/a/notes.txt', mimeType: 'text/plain', size: 6, version: expect.any(String) }],
    ...{ count: 1, bytes: 6, previews: { unavailable: expect.any(String) } },
    ...{ validation: { unavailable: expect.any(String) }, diffs: { unavailable: expect.any(String) } },
  })
  await thread.writeFile('/a/notes.txt', 'Other.', 'text/plain')
  const second = await thread.artifacts()
  expect(second.newest[0]?.version).not.toBe(first.newest[0]?.version)
})

test('AR-SN.6 AR-S3.5 boundaries say where a context begins, what is left out, and what a summary tells of it', async () => {
  await fixture.store.write((tx) =>
    insertBoundary(tx, {
      ...{ threadId: 't', side: 'a', position: 20, kind: 'command', operation: 'model_2_1_compaction_20' },
      detail: { opening: 15, clipped: null, cleared: 12, dropped: 19, cuts: 1, summary: 'They met.' },
      ...{ tokensBefore: 800, tokensAfter: 300, createdAt: 5 },
    }),
  )
  const [newest, ...older] = await thread.boundaries()
  expect(newest).toEqual({
    ...{ side: 'a', position: 20, reason: 'command', opening: 15, clippedUpTo: null, dropped: 19 },
    ...{ clearedUpTo: 12, summary: 'They met.', operation: 'model_2_1_compaction_20' },
    ...{ tokensBefore: 800, tokensAfter: 300, createdAt: 5 },
  })
  expect(await thread.boundaries({ limit: 1 })).toEqual([newest])
  expect(older).toEqual([
    {
      ...{ side: 'a', position: 8, reason: 'window', opening: null, clippedUpTo: 4, dropped: 7 },
      ...{ clearedUpTo: null, summary: null, operation: 'model_1_1' },
      ...{ tokensBefore: 900, tokensAfter: 400, createdAt: 4 },
    },
  ])
})

test('AR-SS.5 diagnostics have findings, warnings, failed calls, requests, limits and gaps, and say what there cannot be', async () => {
  const found = await thread.diagnostics()
  expect(found).toMatchObject({
    ...{ status: 'lost', stale: true, pending: 1, interrupt: 'none', exceeded: [], waitsFor: null },
    findings: [{ kind: 'lost', threadId: 't', fixed: false }],
    incidents: [
      { kind: 'warning', code: 'effects_full', name: null },
      { kind: 'failed_call', code: 'threw', name: 'refund', toolCallId: 'call_1_1_0', errorId: 'e' },
    ],
    errors: [{ id: 'e', type: 'tool.threw' }],
    context: { position: 8, dropped: 7 },
    commands: { unavailable: expect.any(String) },
    processes: { unavailable: expect.any(String) },
  })
  expect(JSON.stringify(found)).not.toContain('secret text')
  // The same that the doctor finds.
  const [finding] = await collect(fixture.threads.doctor({ emptied: true }))
  expect(found.findings).toEqual([finding])
})

test('diagnostics without Temporal are no health', async () => {
  const alone = new ThreadClient({ ...(await awayClient()), store: fixture.place, taskQueue: 'x' })
  try {
    const { findings } = await alone.get('t').diagnostics()
    expect(findings).toEqual({ unavailable: expect.any(String) })
  } finally {
    await alone.close()
  }
})

async function awayClient() {
  const { Client, Connection } = await import('@temporalio/client')
  return { client: new Client({ connection: Connection.lazy({ address: '127.0.0.1:1' }) }) }
}

test('AR-SN.15 AR-VA.9 AR-SS.8 what this runtime has not is unavailable by its name, in the inventory and in the read model', async () => {
  const { unavailable } = fixture.threads.capabilities()
  expect(unavailable).toHaveLength(31)
  expect(new Set(unavailable.map(({ name }) => name)).size).toBe(31)
  expect(unavailable.every(({ reason }) => reason.length > 10)).toBe(true)
  const model = await thread.readModel()
  expect(model.unavailable).toEqual(UNAVAILABLE)
  for (const part of ['tasks', 'jobs', 'evidence', 'environment', 'processes', 'channels'] as const)
    expect(model[part], part).toEqual({ unavailable: expect.any(String) })
  expect(model.tools).toEqual({ unavailable: 'no worker has recorded the agent' })
  expect(model.telemetry).toBe('unknown')
  // A lost thread is not shown as one that works.
  expect(model).toMatchObject({ status: 'lost', controlState: 'lost', stale: true })
})

test('AR-SN.2 AR-SS.3 AR-CP.11 the read model has each part of a thread, over HTTP too', async () => {
  await queueMessages(1)
  const model = await thread.readModel()
  expect(model).toMatchObject({
    ...{ threadId: 't', sessionId: 't', status: 'lost', activeTurn: 'not_applicable' },
    pending: [{ id: request, kind: 'approval' }],
    queue: { items: [{ id: 'm0', source: 'client' }] },
    diagnostics: { incidents: [{ kind: 'warning' }, { kind: 'failed_call' }], context: { position: 8 } },
    artifacts: { count: 1 },
    routing: { budgets: [], waitsFor: null },
    permissions: { interactive: true, sandbox: 'unavailable' },
    subagents: { count: 0, first: [] },
  })
  const [status, body] = await overHttp(token, '/threads/t/read-model')
  expect(status).toBe(200)
  expect(body).toEqual(JSON.parse(JSON.stringify(model)))
})

test('over HTTP each read has its route, and an account sees no texts of an operator’s findings', async () => {
  for (const [path, key] of [
    ...([
      ['queue', 'items'],
      ['children', 'children'],
      ['boundaries', 'boundaries'],
    ] as const),
    ...([
      ['artifacts', 'newest'],
      ['diagnostics', 'incidents'],
      ['read-model', 'queue'],
    ] as const),
  ]) {
    const [status, body] = await overHttp(ACME, `/threads/t/${path}`)
    expect([status, path, body]).toEqual([200, path, expect.objectContaining({ [key]: expect.anything() })])
    expect((await overHttp('token-of-account-globex', `/threads/t/${path}`))[0]).toBe(404)
  }
  const [, found] = await overHttp(ACME, '/threads/t/diagnostics')
  expect(found).toMatchObject({ findings: [{ kind: 'lost', problem: '' }] })
  expect((await overHttp(ACME, '/capabilities'))[1]).toEqual(fixture.threads.capabilities())
})

test('AR-SS.6 an old thread loads in five reads, each bounded, from its shell to details on demand', async () => {
  await queueMessages(900)
  const size = (value: unknown): number => JSON.stringify(value).length
  const shell = await fixture.threads.page({ root: 't' })
  const window = await thread.messages({ limit: 20, includeSilent: true })
  const model = await thread.readModel()
  const waiting = [await thread.queue(), await fixture.threads.pendingPage({ threadId: 't' })]
  const details = [
    await thread.artifacts({ limit: 5 }),
    await thread.boundaries({ limit: 5 }),
    await thread.children(),
  ]
  expect(shell.threads).toMatchObject([{ threadId: 't', lastSequence: expect.any(Number) }])
  expect(model.queue.items).toHaveLength(50)
  expect(model.queue.waiting).toBe(900)
  for (const answer of [shell, window, model, waiting, details]) expect(size(answer)).toBeLessThan(40_000)
})

async function overHttp(as: string, path: string): Promise<readonly [number, unknown]> {
  const tokens = [
    { token },
    { token: ACME, account: 'acme' },
    { token: 'token-of-account-globex', account: 'globex' },
  ]
  const app = createThreadApp({ client: fixture.threads, tokens, log: () => undefined })
  const response = await app.request(path, { headers: { authorization: `Bearer ${as}` } })
  return [response.status, await response.json()]
}
