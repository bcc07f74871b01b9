import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ThreadClient } from '../../src/client/index.js'
import { createThreadApp } from '../../src/server/index.js'
import { closeOpenCalls } from '../../src/store/calls/open-calls.js'
import { insertRemoteCall, remoteSecretPlace } from '../../src/store/calls/remote-calls.js'
import type { RemoteCall } from '../../src/store/calls/remote-calls.js'
import { openStore } from '../../src/store/open-store.js'
import { findOperation } from '../../src/store/operations.js'
import type { Store } from '../../src/store/store.js'
import { insertToolCalls } from '../../src/store/calls/tool-calls.js'
import { insertRun } from '../../src/store/threads/runs.js'
import { insertThread, requestTermination, updateThread } from '../../src/store/threads/threads.js'

const workers = [
  { token: 'worker-of-python-1', taskQueues: ['python'] },
  { token: 'worker-of-others-1', taskQueues: ['ruby', 'go'] },
]
const NOW = Date.now() * 1000

let folder: string
let store: Store
let client: ThreadClient
let app: ReturnType<typeof createThreadApp>

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everthread-tool-calls-'))
  const secretKey = randomBytes(32).toString('base64')
  const place = { database: join(folder, 'threads.db'), blobs: join(folder, 'blobs'), secretKey }
  store = await openStore(place)
  client = new ThreadClient({ store: place })
  app = createThreadApp({ client, tokens: [{ token: 'a-token-of-this-test' }], toolWorkers: workers })
})
afterEach(async () => {
  await client.close()
  await store.close()
  await rm(folder, { recursive: true, force: true })
})

describe('a claim', () => {
  test('gives arguments, declared variables and a token, which is in no row', async () => {
    await send({ variables: { KEY: sealed('KEY', 'hush-hush'), REGION: { value: 'eu', keyId: null } } })
    const response = await claim('c1')
    expect(response.status).toBe(200)
    const claimed = (await response.json()) as Claimed
    expect(claimed).toMatchObject({
      tool: 'draw',
      attempt: 1,
      idempotencyKey: 't:c1',
      arguments: { what: 'a hat' },
      variables: { KEY: 'hush-hush', REGION: 'eu' },
    })
    // Microseconds, as all times: the deadline is a minute after the claim.
    expect(claimed.deadline).toBeGreaterThanOrEqual(NOW + 60_000_000)
    expect(claimed.deadline).toBeLessThan(NOW + 120_000_000)
    expect(claimed.expiresAt).toBeGreaterThan(claimed.deadline)
    const row = JSON.stringify(await store.read((db) => findOperation(db, 't', 'c1_remote')))
    expect(row).not.toContain(claimed.token)
    expect(row).not.toContain('hush-hush')
  })

  test('has the context of the run that made the call', async () => {
    await send()
    expect(await (await claim('c1')).json()).toMatchObject({ runContext: null })
    await store.write(async (tx) => {
      await insertRun(tx, { thread_id: 't', number: 1, trigger_kind: 'message', started_at: NOW })
      const place = { message_id: 'm', run: 1, step: 1, call_index: 0, side: 'a' } as const
      const call = { thread_id: 't', id: 'c2', provider_call_id: 'p', name: 'draw', arguments: '{}' }
      await insertToolCalls(tx, [{ ...call, ...place }])
      await updateThread(tx, 't', { metadata: { ticket: 17 } })
    })
    await send({}, 'c2')
    expect(await (await claim('c2')).json()).toMatchObject({
      runContext: { runId: 't:run_1', sessionId: 't', agentChain: ['clerk'], metadata: { ticket: 17 } },
    })
  })

  test('names the trace that the call belongs to', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    await send({ traceparent })
    await send({}, 'c2')
    expect(await (await claim('c1')).json()).toMatchObject({ traceparent })
    expect(await (await claim('c2')).json()).toMatchObject({ traceparent: null })
  })

  test('needs the token of a worker that serves its task queue', async () => {
    await send()
    expect(await codeOf(await claim('c1', { token: 'worker-of-nobody-1' }))).toEqual([401, 'unauthorized'])
    expect(await codeOf(await claim('c1', { token: 'a-token-of-this-test' }))).toEqual([401, 'unauthorized'])
    expect(await codeOf(await claim('c1', { token: 'worker-of-others-1' }))).toEqual([404, 'call_not_found'])
    expect(await codeOf(await claim('c2'))).toEqual([404, 'call_not_found'])
    const bare = await app.request('/tool-calls/t/c1/claim', { method: 'POST', body: '{}' })
    expect(bare.status).toBe(401)
    expect(bare.headers.get('www-authenticate')).toContain('Bearer')
  })

  test('is given once, and again to the claim whose answer got lost', async () => {
    await send()
    const first = await tokenOf(await claim('c1', { claimId: 'mine' }))
    const again = await claim('c1', { claimId: 'mine' })
    expect(((await again.clone().json()) as Claimed).attempt).toBe(1)
    expect(await codeOf(await claim('c1', { claimId: 'theirs' }))).toEqual([409, 'call_taken'])
    expect(await codeOf(await answer(first, done))).toEqual([401, 'call_token'])
    expect((await answer(await tokenOf(again), done)).status).toBe(200)
  })

  test('of an idempotent tool takes the call from an earlier one, with what that wrote', async () => {
    await send({ idempotent: true })
    const first = await tokenOf(await claim('c1', { claimId: 'one' }))
    expect((await put(first, '/a.txt', 'first')).status).toBe(200)
    const second = await claim('c1', { claimId: 'two' })
    expect(((await second.clone().json()) as Claimed).attempt).toBe(2)
    const token = await tokenOf(second)
    expect(await codeOf(await get(token, '/a.txt'))).toEqual([404, 'not_found'])
    for (const late of [
      await answer(first, done),
      await put(first, '/b.txt', 'x'),
      await get(first, '/a.txt'),
    ])
      expect(await codeOf(late)).toEqual([401, 'call_token'])
    expect((await answer(token, done)).status).toBe(200)
  })

  test('a call that was cut, answered or terminated is not given', async () => {
    await send()
    await send({}, 'c2')
    expect((await answer(await tokenOf(await claim('c2')), done, 'c2')).status).toBe(200)
    expect(await codeOf(await claim('c2', { claimId: 'later' }))).toEqual([409, 'call_answered'])
    await store.write((tx) => closeOpenCalls(tx, { threadId: 't', outcome: 'interrupted', now: NOW }))
    expect(await codeOf(await claim('c1'))).toEqual([410, 'call_ended'])
    await send({}, 'c3')
    await store.write((tx) => requestTermination(tx, { threadId: 't', reason: 'test', now: NOW }))
    expect(await codeOf(await claim('c3'))).toEqual([410, 'call_ended'])
  })
})

describe('a call', () => {
  test('that is asked for too often is told when to come again, others are not', async () => {
    app = createThreadApp({
      client,
      tokens: [{ token: 'a-token-of-this-test' }],
      toolWorkers: workers,
      rateLimit: { requests: 2, seconds: 60 },
    })
    await send()
    await send({}, 'c2')
    expect((await claim('c1')).status).toBe(200)
    const token = await tokenOf(await claim('c1'))
    const refused = await claim('c1')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50)
    expect(await codeOf(refused)).toEqual([429, 'rate_limited'])
    expect((await claim('c2')).status).toBe(200)
    expect((await get(token, '/a.txt')).status).toBe(404)
    expect((await answer(token, done)).status).toBe(200)
    expect((await answer(token, done)).status).toBe(429)
  })
})

describe('tokens of nobody', () => {
  test('are looked up so often by one address; those that are known go on', async () => {
    const limited = {
      ...{ client, tokens: [{ token: 'a-token-of-this-test' }], toolWorkers: workers },
      rateLimit: { requests: 3, seconds: 60 },
    }
    app = createThreadApp(limited)
    await send()
    await send({}, 'c2')
    await send({}, 'c3')
    const token = await tokenOf(await claim('c1'))
    expect((await get(token, '/a.txt')).status).toBe(404)
    const guess = async (number: number) => (await get(`guess-${number}-of-a-token`, '/a.txt')).status
    for (const [number, status] of [401, 401, 401, 429, 429].entries())
      expect(await guess(number)).toBe(status)
    const refused = await claim('c2', { token: 'worker-of-nobody-1' })
    expect(await codeOf(refused)).toEqual([429, 'rate_limited'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50)
    // Guesses lock out neither workers nor tokens that were valid before.
    expect((await answer(token, done)).status).toBe(200)
    const other = await tokenOf(await claim('c2'))
    expect((await get(other, '/a.txt', 'c2')).status).toBe(404)
    // So does a server that has just started.
    app = createThreadApp(limited)
    for (const [number, status] of [401, 401, 401, 429].entries()) expect(await guess(number)).toBe(status)
    expect((await claim('c3')).status).toBe(200)
    app = createThreadApp({ ...limited, rateLimit: false })
    for (const number of [1, 2, 3, 4, 5]) expect(await guess(number)).toBe(401)
  })
})

describe('a result', () => {
  test('is taken once; the same one again changes nothing', async () => {
    await send()
    const token = await tokenOf(await claim('c1'))
    expect((await answer(token, done)).status).toBe(200)
    expect((await answer(token, done)).status).toBe(200)
    const other = { status: 'success', result: 'another one' }
    expect(await codeOf(await answer(token, other))).toEqual([409, 'call_answered'])
    expect(await codeOf(await put(token, '/late.txt', 'x'))).toEqual([409, 'call_answered'])
  })

  test('of a call that was cut is refused', async () => {
    await send()
    const token = await tokenOf(await claim('c1'))
    await store.write((tx) => closeOpenCalls(tx, { threadId: 't', outcome: 'interrupted', now: NOW }))
    expect(await codeOf(await answer(token, done))).toEqual([410, 'call_ended'])
    expect(await codeOf(await get(token, '/a.txt'))).toEqual([410, 'call_ended'])
  })

  test('is not looked at before its token', async () => {
    await send()
    const held = { threadId: 't', callId: 'c1', token: 'of-nobody' }
    await expect(client.remoteCalls.answer(held, {})).rejects.toMatchObject({ code: 'call_token' })
  })

  test('of a token that has expired is refused', async () => {
    // The timeout and the minute after it are over.
    await send({ timeout: -120_000 })
    expect(await codeOf(await answer(await tokenOf(await claim('c1')), done))).toEqual([401, 'call_token'])
  })

  test.each([
    [{}],
    [{ status: 'pending' }],
    [{ status: 'success', more: 1 }],
    [{ status: 'success', attachments: [{ name: 'a', mimeType: 'text/plain', data: 'YQ==' }] }],
    [{ status: 'success', attachments: [{ path: '../a' }] }],
    [{ status: 'error', error: 7 }],
  ])('%j is no result', async (body) => {
    await send()
    const token = await tokenOf(await claim('c1'))
    expect((await answer(token, body)).status).toBe(400)
    expect((await answer(token, done)).status).toBe(200)
  })
})

describe('files', () => {
  test('what the call writes is its own until the result', async () => {
    await send()
    await client.get('t').writeFile('/notes/a.txt', 'theirs', 'text/plain')
    const token = await tokenOf(await claim('c1'))
    expect(await (await get(token, '/notes/a.txt')).text()).toBe('theirs')
    const written = await put(token, '/notes/a.txt', 'mine')
    expect(await written.json()).toEqual({ path: '/notes/a.txt', mimeType: 'text/markdown', size: 4 })
    const own = await get(token, '/notes/a.txt')
    expect(own.headers.get('content-type')).toBe('text/markdown')
    expect(await own.text()).toBe('mine')
    const bytes = await client.get('t').readFile('/notes/a.txt')
    expect(Buffer.from(bytes ?? new ArrayBuffer()).toString()).toBe('theirs')
  })

  test('paths that lead elsewhere, and folders, are refused', async () => {
    await send()
    await client.get('t').writeFile('/notes/a.txt', 'theirs', 'text/plain')
    const token = await tokenOf(await claim('c1'))
    for (const path of ['a.txt', '/../a.txt', '/a//b', '/notes/../../x', '/'])
      expect((await put(token, path, 'x')).status, path).toBe(400)
    expect((await put(token, '/notes', 'x')).status).toBe(400)
    expect((await get(token, '/nowhere.txt')).status).toBe(404)
    expect((await get(token, '/notes')).status).toBe(404)
  })

  test('a file is as long as a thread may have one', async () => {
    await send()
    const token = await tokenOf(await claim('c1'))
    const five = Buffer.alloc(5_000_000, 'five')
    expect(await (await put(token, '/five.bin', five)).json()).toMatchObject({ size: five.length })
    expect(await (await put(token, '/again.bin', pieces(5))).json()).toMatchObject({ size: 5 * MIB })
    expect(Buffer.from(await (await get(token, '/five.bin')).arrayBuffer()).equals(five)).toBe(true)
    expect(await codeOf(await put(token, '/huge.bin', pieces(101)))).toEqual([413, 'call_file_size'])
    expect(await codeOf(await get(token, '/huge.bin'))).toEqual([404, 'not_found'])
  })

  test('a type that no header can carry is bytes, which nobody opens', async () => {
    await send()
    await client.get('t').writeFile('/notes/日本.txt', 'theirs', 'text/日本')
    const file = await get(await tokenOf(await claim('c1')), '/notes/日本.txt')
    expect([file.status, await file.text()]).toEqual([200, 'theirs'])
    expect(Object.fromEntries(file.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': '6',
      'content-disposition': "attachment; filename*=UTF-8''%E6%97%A5%E6%9C%AC.txt",
      'x-content-type-options': 'nosniff',
    })
  })

  test('a token reads nothing of another call or thread', async () => {
    await send()
    await send({}, 'c2')
    const token = await tokenOf(await claim('c1'))
    expect(await codeOf(await get(token, '/a.txt', 'c2'))).toEqual([401, 'call_token'])
    const foreign = await app.request('/tool-calls/u/c1/files?path=/a.txt', { headers: bearer(token) })
    expect(await codeOf(foreign)).toEqual([401, 'call_token'])
  })
})

test('tokens that cannot be are refused at the start', () => {
  const make = (toolWorkers: typeof workers) => () =>
    createThreadApp({ client, tokens: [{ token: 'a-token-of-this-test' }], toolWorkers })
  expect(make([{ token: 'short', taskQueues: ['q'] }])).toThrow(/toolWorkers\[0\].token/)
  expect(make([{ token: 'long-enough-to-be-one', taskQueues: [] }])).toThrow(/toolWorkers\[0\].taskQueues/)
  expect(make([...workers, ...workers])).toThrow(/got one twice/)
})

interface Claimed {
  readonly token: string
  readonly attempt: number
  readonly deadline: number
  readonly expiresAt: number
}

const done = { status: 'success', result: { drawn: true }, content: [{ type: 'text', text: 'Here.' }] }

/** Writes the rows that the first half of a call writes. */
async function send(patch: Partial<RemoteCall> = {}, callId = 'c1'): Promise<void> {
  const call: RemoteCall = {
    ...{ tool: 'draw', taskQueue: 'python', timeout: 60_000, idempotent: false },
    ...{ args: { what: 'a hat' }, variables: {}, traceparent: null },
    ...patch,
  }
  await store.write(async (tx) => {
    await insertThread(tx, { id: 't', agent: 'clerk', created_at: NOW })
    await insertRemoteCall(tx, { threadId: 't', callId }, { call, now: NOW })
  })
}

function sealed(name: string, value: string): { value: string; keyId: string } {
  return store.secrets.seal(value, remoteSecretPlace({ threadId: 't', callId: 'c1' }, name))
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}

async function post(path: string, token: string, body: object): Promise<Response> {
  const headers = { ...bearer(token), 'content-type': 'application/json' }
  return app.request(path, { method: 'POST', headers, body: JSON.stringify(body) })
}

function claim(
  callId: string,
  { token = 'worker-of-python-1', claimId = 'claim' }: { token?: string; claimId?: string } = {},
): Promise<Response> {
  return post(`/tool-calls/t/${callId}/claim`, token, { claimId })
}

function answer(token: string, body: object, callId = 'c1'): Promise<Response> {
  return post(`/tool-calls/t/${callId}/result`, token, body)
}

async function get(token: string, path: string, callId = 'c1'): Promise<Response> {
  return app.request(filesOf(callId, path), { headers: bearer(token) })
}

async function put(
  token: string,
  path: string,
  body: string | Buffer<ArrayBuffer> | ReadableStream<Uint8Array>,
): Promise<Response> {
  const headers = { ...bearer(token), 'content-type': 'text/markdown' }
  const duplex = body instanceof ReadableStream ? ({ duplex: 'half' } as const) : {}
  return app.request(filesOf('c1', path), { method: 'PUT', headers, body, ...duplex })
}

const MIB = 1024 * 1024

/** A stream of so many MiB, without a declared length. */
function pieces(count: number): ReadableStream<Uint8Array> {
  return ReadableStream.from(Array.from({ length: count }, (_, index) => new Uint8Array(MIB).fill(index)))
}

function filesOf(callId: string, path: string): string {
  return `/tool-calls/t/${callId}/files?path=${encodeURIComponent(path)}`
}

async function tokenOf(response: Response): Promise<string> {
  return ((await response.json()) as Claimed).token
}

async function codeOf(response: Response): Promise<readonly unknown[]> {
  const { error } = (await response.json()) as { error: { code: string } }
  return [response.status, error.code]
}
