import { fileURLToPath } from 'node:url'
import { NativeConnection, Worker } from '@temporalio/worker'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createThreadApp, serveThreads } from '../../src/server/index.js'
import { findVariables, openVariable } from '../../src/store/threads/variables.js'
import { createClientFixture } from '../client/client-fixture.js'
import type { ClientFixture } from '../client/client-fixture.js'
import { askRequest } from '../client/request-rows.js'
import { startDevServer } from '../support/servers.js'
import type { DevServer } from '../support/servers.js'

const workflowsPath = fileURLToPath(new URL('../client/fixtures/answering-workflow.ts', import.meta.url))
const token = 'a-token-of-this-test'

let server: DevServer
let connection: NativeConnection
let fixture: ClientFixture
let worker: Worker
let running: Promise<void>

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
  worker = await Worker.create({ connection, taskQueue: fixture.taskQueue, workflowsPath })
  running = worker.run()
})
afterEach(async () => {
  worker.shutdown()
  await running
  await fixture.close()
})

describe('GET', () => {
  test('SA-R-07.5b the names of a waiting request are answered, and no value', async () => {
    const { path } = await waiting()
    const response = await get(path)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      request_id: 'variables_1',
      parent_thread_id: expect.any(String),
      agent_name: 'support',
      required: ['API_KEY', 'REGION'],
      missing: ['API_KEY'],
    })
  })

  test('SA-R-07.5b an unknown request, an answered one and an unknown thread are 404', async () => {
    const { path } = await waiting()
    expect(await codeOf(await get(`${path}x`))).toEqual([404, 'request_not_found'])
    expect(await codeOf(await get('/threads/nobody/variables/variables_1'))).toEqual([
      404,
      'thread_not_found',
    ])
    expect((await post(path, { env: { API_KEY: 'k' } })).status).toBe(200)
    expect(await codeOf(await get(path))).toEqual([404, 'request_not_found'])
  })

  test('a request that waits for no variables is 404', async () => {
    const thread = await fixture.threads.create({ agent: 'support' })
    const id = await askRequest(fixture.store, { thread: thread.threadId })
    expect(await codeOf(await get(`/threads/${thread.threadId}/variables/${id}`))).toEqual([
      404,
      'request_not_found',
    ])
  })
})

describe('POST', () => {
  test('SA-R-07.5c the values are stored and the workflow is told', async () => {
    const { path, threadId } = await waiting()
    const response = await post(path, { env: { API_KEY: 'k-1' } })
    expect([response.status, await response.json()]).toEqual([
      200,
      { request_id: 'variables_1', child_thread_id: null, status: 'accepted' },
    ])
    expect(await valueOf(threadId, 'API_KEY')).toBe('k-1')
    const { taken } = await fixture.threads.temporal.workflow
      .getHandle(threadId)
      .query<{ taken: object[] }>('taken')
    expect(taken).toEqual([{ id: 'variables_1', names: ['API_KEY'] }])
  })

  test('the same values again are fine, and other values are 409', async () => {
    const { path } = await waiting()
    expect((await post(path, { env: { API_KEY: 'k-1' } })).status).toBe(200)
    expect((await post(path, { env: { API_KEY: 'k-1' } })).status).toBe(200)
    expect(await codeOf(await post(path, { env: { API_KEY: 'k-2' } }))).toEqual([409, 'request_answered'])
  })

  test('a request of a terminated thread is 404', async () => {
    const { path, threadId } = await waiting()
    await fixture.threads.get(threadId).terminate()
    expect(await codeOf(await post(path, { env: { API_KEY: 'k-1' } }))).toEqual([404, 'request_not_found'])
  })

  test.each([
    ['no JSON', '{', 'bad_request'],
    ['no env', '{}', 'bad_request'],
    ['a number as a value', '{"env":{"API_KEY":7}}', 'bad_request'],
    ['another field', '{"env":{"API_KEY":"k"},"admin":true}', 'bad_request'],
    ['no values', '{"env":{}}', 'message_rejected'],
    ['an empty text', '{"env":{"API_KEY":""}}', 'message_rejected'],
    ['a name that was not asked for', '{"env":{"API_KEY":"k","EXTRA":"x"}}', 'message_rejected'],
  ])('a body with %s is 400 and leaves the request open', async (_what, body, code) => {
    const { path } = await waiting()
    const response = await request(path, { method: 'POST', body })
    expect(await codeOf(response)).toEqual([400, code])
    expect((await get(path)).status).toBe(200)
  })

  test('a body above the limit is 413', async () => {
    const { path } = await waiting()
    const response = await post(path, { env: { API_KEY: 'x'.repeat(5 * 1024 * 1024) } })
    expect(await codeOf(response)).toEqual([413, 'too_large'])
  })
})

describe('the server', () => {
  test.each([
    ['no token', undefined, 401],
    ['another token', 'Bearer another-token-of-this', 401],
    ['another scheme', `Basic ${token}`, 401],
  ])('a caller with %s is refused', async (_who, authorization, status) => {
    const { path } = await waiting()
    const response = await app().request(path, {
      headers: authorization === undefined ? {} : { authorization },
    })
    expect(response.status).toBe(status)
    expect(response.headers.get('www-authenticate')).toContain('Bearer')
    expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } })
  })

  test('a token that is short or that no header carries is refused before anything starts', () => {
    for (const wrong of ['', 'short', 'words with spaces in them'])
      expect(() => createThreadApp({ client: fixture.threads, tokens: [{ token: wrong }] })).toThrow(
        'Expected "tokens[0].token"',
      )
  })

  test('its OpenAPI document names the routes and their answers', async () => {
    const document = (await (await app().request('/openapi.json')).json()) as {
      paths: Record<string, Record<string, { responses: object }>>
    }
    const path = document.paths['/threads/{threadId}/variables/{requestId}']
    expect(Object.keys(path?.['get']?.responses ?? {})).toEqual(
      expect.arrayContaining(['200', '400', '401', '404', '429']),
    )
    expect(Object.keys(path?.['post']?.responses ?? {})).toEqual(
      expect.arrayContaining(['200', '400', '401', '404', '409', '413', '503']),
    )
  })

  test('it listens on a free port, answers, and closes', async () => {
    const { path } = await waiting()
    const listening = await serveThreads({ client: fixture.threads, tokens: [{ token }], port: 0 })
    const response = await fetch(listening.url + path, { headers: { authorization: `Bearer ${token}` } })
    expect(response.status).toBe(200)
    await response.body?.cancel()
    await listening.close()
    await expect(fetch(listening.url + path)).rejects.toThrow('fetch failed')
  })
})

async function waiting(): Promise<{ path: string; threadId: string }> {
  const { threadId, workflow } = await fixture.threads.create({ agent: 'support' })
  const detail = { agent: 'support', required: ['API_KEY', 'REGION'], missing: ['API_KEY'] }
  const id = await askRequest(fixture.store, {
    ...{ thread: threadId, args: null, id: 'variables_1', kind: 'variables', detail },
  })
  await workflow.signal<[string]>('know', id)
  return { path: `/threads/${threadId}/variables/${id}`, threadId }
}

function app() {
  return createThreadApp({ client: fixture.threads, tokens: [{ token }] })
}

async function request(path: string, init: { method?: string; body?: string } = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return app().request(path, { ...init, headers })
}

function get(path: string): Promise<Response> {
  return request(path)
}

function post(path: string, body: object): Promise<Response> {
  return request(path, { method: 'POST', body: JSON.stringify(body) })
}

async function codeOf(response: Response): Promise<readonly [number, string]> {
  const { error } = (await response.json()) as { error: { code: string } }
  return [response.status, error.code]
}

async function valueOf(threadId: string, name: string): Promise<string | null> {
  const [variable] = await fixture.store.read((db) => findVariables(db, threadId, [name]))
  return variable === undefined ? null : openVariable(fixture.store.secrets, variable)
}
