import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { serve } from '@hono/node-server'
import { context, trace } from '@opentelemetry/api'
import { TestWorkflowEnvironment } from '@temporalio/testing'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import { createThreadApp } from '../../src/server/index.js'
import { createTestEnvironment } from '../../src/testing/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { recordedRuns, searchFor, searchForContent } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { startPythonWorker } from '../support/python-worker.js'
import type { PythonWorker } from '../support/python-worker.js'
import { recordSpans } from '../support/record-spans.js'
import { remoteDesk } from '../support/remote-desk.js'
import { freePort } from '../support/free-port.js'
import { toolResults } from '../support/thread-facts.js'
import { until } from '../support/until.js'
import { createVoice } from '../support/voice.js'
import { expectWholeLog } from './worker/whole-thread.js'

const address = inject('devServerAddress')
const taskQueue = `python-${randomUUID()}`
const token = randomBytes(24).toString('hex')
const secret = `key-${randomUUID()}`
const voice = createVoice()
const tokens: string[] = []
const threads: string[] = []
let env: TestEnvironment<ReturnType<typeof remoteDesk>>
let python: PythonWorker
let folder: string
let server: ReturnType<typeof serve>
let url: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everthread-python-'))
  const effects = join(folder, 'effects.jsonl')
  await writeFile(effects, '')
  env = await createTestEnvironment({
    registry: remoteDesk(taskQueue),
    models: { chat: voice.model },
    server: await TestWorkflowEnvironment.createFromExistingServer({ address }),
    worker: { workflowBundle: { codePath: inject('workflowBundlePath') } },
  })
  const toolWorkers = [{ token, taskQueues: [taskQueue] }]
  const app = createThreadApp({
    client: env.threads,
    tokens: [{ token: randomBytes(24).toString('hex') }],
    toolWorkers,
  })
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  server = serve({
    port,
    hostname: '127.0.0.1',
    // What no history may hold, as it goes by.
    fetch: async (request) => {
      const response = await app.fetch(request)
      if (!request.url.endsWith('/claim') || response.status !== 200) return response
      tokens.push(((await response.clone().json()) as { token: string }).token)
      return response
    },
  })
  python = await startPythonWorker(place())
})
afterAll(async () => {
  await python.kill()
  server.close()
  await env.close()
  await rm(folder, { recursive: true, force: true })
})

function place() {
  return { address, taskQueue, url, token, effects: join(folder, 'effects.jsonl') }
}

async function create(call: { readonly name: string; readonly args: object }): Promise<ThreadHandle> {
  voice.says({ toolCalls: [call] }, { text: marked('Done') })
  const id = `${call.name}-${randomUUID()}`
  threads.push(id)
  return env.threads.create({
    agent: 'clerk',
    id,
    env: { API_KEY: secret },
    // As short as a busy machine allows: a Python that died is noticed after it.
    limits: { heartbeatTimeout: 5_000 },
    message: {
      content: marked('Please'),
      attachments: [{ name: 'a.txt', mimeType: 'text/plain', data: Buffer.from(marked('some words')) }],
    },
  })
}

interface Effect {
  readonly did: string
  readonly attempt: number
  readonly trace: string | null
}

async function effectsOf({ threadId }: ThreadHandle): Promise<readonly Effect[]> {
  const lines = (await readFile(join(folder, 'effects.jsonl'), 'utf8'))
    .split('\n')
    .filter((line) => line !== '')
  const effects = lines.map((line) => JSON.parse(line) as Effect & { readonly key: string })
  return effects.filter(({ key }) => key.startsWith(`${threadId}:`))
}

const acted = (thread: ThreadHandle) =>
  until('the tool to act', async () => (await effectsOf(thread)).length > 0)

test('a tool in Python reads and writes files, and answers', async () => {
  const thread = await create({ name: 'rework', args: { path: '/attachments/a.txt' } })
  expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', steps: 2 })
  const [result] = await toolResults(thread)
  expect(result).toMatchObject({
    tool_status: 'success',
    attachments: [{ path: '/made/length.txt', description: 'How long it is' }],
  })
  const capitals = marked('some words').toUpperCase()
  // Defaults of the schema apply, and a secret does not come back.
  expect(JSON.parse(result?.content ?? '')).toEqual({ text: capitals, key: '[secret API_KEY]', times: 1 })
  expect(await textOf(thread, '/attachments/a.txt')).toBe(capitals)
  expect(await textOf(thread, '/made/length.txt')).toBe(String(capitals.length))
  await expectWholeLog(thread)
})

test('a tool in Python is told the trace that its call belongs to', async () => {
  recordSpans(() => undefined)
  await trace.getTracer('shop').startActiveSpan('POST /orders', async (span) => {
    const thread = await create({ name: 'rework', args: { path: '/attachments/a.txt' } })
    span.end()
    await thread.waitUntilIdle()
    const [effect] = await effectsOf(thread)
    expect(effect?.trace).toMatch(new RegExp(`^00-${span.spanContext().traceId}-[0-9a-f]{16}-01$`))
  })
  trace.disable()
  context.disable()
})

test('what a tool in Python raises is an error result', async () => {
  const thread = await create({ name: 'fail', args: { task: marked('this') } })
  expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', steps: 2 })
  const [result] = await toolResults(thread)
  expect(result).toMatchObject({ tool_status: 'error' })
  expect(result?.content).toBe(`Error: It cannot be done: ${marked('this')} [seen]`)
  expect(await thread.statFile('/made/before-the-error.txt')).not.toBeNull()
  expect(await effectsOf(thread)).toHaveLength(1)
})

test.each([
  ['plain dict', '{"words":3}'],
  ['status of its own', '{"status":"shipped"}'],
  ['no JSON', 'cannot be stored'],
  ['not a number', 'cannot be stored'],
  ['too large', 'cannot be stored'],
  ['no result', 'cannot be stored'],
  ['own timeout', 'The socket was too slow.'],
])('a tool in Python that gives a result of %s runs once', async (task, content) => {
  const thread = await create({ name: 'odd', args: { task } })
  expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', steps: 2 })
  const [result] = await toolResults(thread)
  expect(result?.content).toContain(content)
  expect(await effectsOf(thread)).toHaveLength(1)
})

test('a killed Python is waited for, and an idempotent call made again', async () => {
  const thread = await create({ name: 'hold_again', args: { task: marked('long') } })
  await acted(thread)
  await python.kill()
  python = await startPythonWorker(place())
  expect(await thread.waitUntilIdle({ timeout: '100 s' })).toMatchObject({ status: 'idle' })
  const [result] = await toolResults(thread)
  expect(result).toMatchObject({ tool_status: 'success', content: `done in attempt 2: ${marked('long')}` })
  expect((await effectsOf(thread)).map(({ attempt }) => attempt)).toEqual([1, 2])
})

test('a killed Python leaves any other call unknown', async () => {
  const thread = await create({ name: 'hold_once', args: { task: marked('long') } })
  await acted(thread)
  await python.kill()
  python = await startPythonWorker(place())
  expect(await thread.waitUntilIdle({ timeout: '100 s' })).toMatchObject({ status: 'idle' })
  const [result] = await toolResults(thread)
  expect(result?.content).toContain('The outcome of this call is unknown')
  expect(await effectsOf(thread)).toHaveLength(1)
})

test('a stop reaches Python with its heartbeat', async () => {
  const thread = await create({ name: 'hold_once', args: { task: marked('long') } })
  await acted(thread)
  const asked = Date.now()
  await thread.stop()
  expect(await thread.waitUntilIdle()).toMatchObject({ status: 'stopped' })
  expect(Date.now() - asked).toBeLessThan(30_000)
  await until('Python to be told', async () =>
    (await effectsOf(thread)).some(({ did }) => did === 'cancelled'),
  )
  expect(await toolResults(thread)).toMatchObject([{ content: expect.stringContaining('interrupted') }])
  // What it says now is refused: its call has a result.
  const late = await post(thread, 'result', { token: tokens.at(-1) ?? '', body: { status: 'success' } })
  expect(late.status).toBe(410)
  await expectWholeLog(thread)
})

test('a call that needs a permission is not sent before it', async () => {
  const thread = await create({ name: 'guarded', args: { task: marked('this') } })
  const { pending } = await until('a request', async () => {
    const snapshot = await thread.snapshot()
    return snapshot.pending.length > 0 && snapshot
  })
  expect(await effectsOf(thread)).toEqual([])
  await thread.respond(pending[0]?.id ?? '', { approved: true })
  await acted(thread)
  await thread.stop()
  await thread.waitUntilIdle()
})

test('a task queue that nobody serves is named, and a terminate is not held up', async () => {
  const thread = await create({ name: 'nobody', args: { task: marked('this') } })
  const queue = `${taskQueue}-nobody`
  await until('the call to wait', async () => (await thread.snapshot()).run?.taskQueue === queue)
  // Its worker is another one: this one may not even know of the call.
  const foreign = await post(thread, 'claim', { token, body: { claimId: 'mine' } })
  expect(foreign.status).toBe(404)
  await thread.terminate()
  await until('a result', async () => (await toolResults(thread)).length > 0)
  expect(await toolResults(thread)).toMatchObject([{ content: expect.stringContaining('cancelled') }])
})

test('nothing that a call is about is in a history or in the words of Python', async () => {
  const runs = (await Promise.all(threads.map((id) => recordedRuns(env.threads.temporal, id)))).flat()
  expect(searchForContent(runs)).toMatchObject({ leaks: [] })
  expect(tokens.length).toBeGreaterThan(5)
  for (const words of [token, secret, ...tokens]) expect(searchFor(words, runs).leaks).toEqual([])
  for (const words of [token, secret, ...tokens]) expect(python.output()).not.toContain(words)
  const rows = await env.store.read((db) => db.selectFrom('operations').selectAll().execute())
  const stored = JSON.stringify(rows)
  expect([secret, ...tokens].filter((words) => stored.includes(words))).toEqual([])
  // Forgotten with the end of each call: no old key is kept for them.
  expect(stored).not.toContain('sealed')
})

async function post(
  { threadId }: ThreadHandle,
  route: string,
  { token: bearer, body }: { readonly token: string; readonly body: object },
): Promise<Response> {
  return fetch(`${url}/tool-calls/${threadId}/call_1_1_0/${route}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

async function textOf(thread: ThreadHandle, path: string): Promise<string> {
  const bytes = await thread.readFile(path)
  return Buffer.from(bytes ?? new ArrayBuffer()).toString()
}
