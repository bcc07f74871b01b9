import { beforeEach, describe, expect, test } from 'vitest'

import { createThreadApp } from '../../src/server/index.js'
import { ThreadClient } from '../../src/client/index.js'
import { recordError } from '../../src/store/errors.js'
import { askRequest } from '../client/request-rows.js'
import { addChildRows } from '../support/child-rows.js'
import { ACME, GLOBEX, OPERATOR, serverFixture } from './server-fixture.js'

interface Operation {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly isPublic: boolean
}

/** All routes of the OpenAPI document, so that none is forgotten. */
const OPERATIONS = await operations()

/** What each of the routes without a thread in its path says of other accounts is told by a test below, of webhooks in `webhooks.test.ts`. */
const WITHOUT_THREAD = [
  'DELETE /budgets',
  'DELETE /grants/{grantId}',
  'DELETE /permissions',
  'DELETE /webhooks/{webhookId}',
  'GET /agents',
  'GET /budgets',
  'GET /capabilities',
  'GET /grants',
  'GET /health',
  'GET /permissions',
  'GET /ready',
  'GET /requests',
  'GET /sessions',
  'GET /thread-counts',
  'GET /threads',
  'GET /webhooks',
  'GET /webhooks/{webhookId}',
  'PATCH /webhooks/{webhookId}',
  'POST /ag-ui/{agent}',
  'POST /threads',
  'POST /webhooks',
  'POST /webhooks/{webhookId}/redeliver',
  'PUT /budgets',
  'PUT /permissions',
]

/** A session has the id of its root thread. */
const THREADS = ['/threads/{threadId}', '/sessions/{sessionId}']
const namesThread = ({ path }: Operation): boolean => THREADS.some((beginning) => path.startsWith(beginning))

const server = serverFixture()
const { call, fixture } = server

test('every route names its thread in its path, or is known here', () => {
  const others = OPERATIONS.filter((operation) => !namesThread(operation))
  expect(others.map(({ name }) => name).toSorted()).toEqual(WITHOUT_THREAD)
})

describe('without a token', () => {
  test.each(OPERATIONS.filter(({ isPublic }) => !isPublic))('$name is 401', async ({ method, path }) => {
    for (const token of ['', 'another-token-of-nobody'])
      expect((await call(filled(path, 'nobody'), { method, token, ...bodyFor(method) })).status).toBe(401)
  })

  test('only health, readiness and the document itself answer', () => {
    expect(OPERATIONS.filter(({ isPublic }) => isPublic).map(({ name }) => name)).toEqual([
      'GET /health',
      'GET /ready',
    ])
  })
})

describe("another account's thread", () => {
  let theirs: string
  let child: string

  beforeEach(async () => {
    theirs = await server.thread('acme', 'thread-of-acme')
    child = 'child-of-acme'
    const thread = { account: 'acme', closed_at: 9, status: 'completed' }
    await addChildRows(fixture.store, { id: child, parent: theirs, root: theirs, thread })
    await askRequest(fixture.store, { thread: theirs, id: 'request', kind: 'variables', args: null })
    await fixture.threads.get(theirs).writeFile('/secret.txt', 'secret', 'text/plain')
    await fixture.threads.get(theirs).send({ id: 'message-of-acme', content: 'secret' })
  })

  test.each(OPERATIONS.filter(namesThread))(
    '$name answers as for one that does not exist, and does nothing',
    async ({ method, path }) => {
      const before = await stateOf(theirs)
      for (const threadId of [theirs, child]) {
        const foreign = await answerOf(path, method, threadId)
        const none = await answerOf(path, method, 'no-thread-at-all')
        expect(foreign).toEqual(none)
        expect(foreign.slice(0, 2)).toEqual([404, 'thread_not_found'])
      }
      expect(await stateOf(theirs)).toEqual(before)
    },
  )

  test('and its subagents are there for its own account and for an operator', async () => {
    for (const token of [ACME, OPERATOR])
      for (const threadId of [theirs, child])
        expect((await call(`/threads/${threadId}`, { token })).body).toMatchObject({
          threadId,
          account: 'acme',
        })
  })

  test('is in no list', async () => {
    for (const path of ['/threads', '/threads?account=acme', `/threads?root=${theirs}`])
      expect((await call(path, { token: GLOBEX })).body).toEqual({ threads: [], next: null })
    for (const path of ['/sessions', '/sessions?account=acme', '/sessions?state=idle'])
      expect((await call(path, { token: GLOBEX })).body).toEqual({ sessions: [], next: null })
    for (const path of ['/requests', '/requests?account=acme', `/requests?threadId=${theirs}`])
      expect((await call(path, { token: GLOBEX })).body).toEqual({ requests: [], next: null })
    expect((await call('/requests', { token: ACME })).body.requests).toMatchObject([{ id: 'request' }])
  })

  test('does not show when a thread or a message is made', async () => {
    const threads = []
    for (const key of [theirs, 'free']) {
      const made = await call('/threads', { token: GLOBEX, body: { agent: 'support', key } })
      threads.push([made.status, made.body.account])
    }
    expect(threads).toEqual([
      [201, 'globex'],
      [201, 'globex'],
    ])
    const own = await server.thread('globex')
    const sent = await call(`/threads/${own}/messages`, {
      token: GLOBEX,
      body: { content: 'x', key: 'message-of-acme' },
    })
    expect(sent.status).toBe(202)
  })

  /** Returns an error without the parts that depend on the request itself. */
  async function answerOf(path: string, method: string, threadId: string): Promise<readonly unknown[]> {
    const given = { method, token: GLOBEX, ...bodyFor(method) }
    const { status, body, headers } = await call(filled(path, threadId), given)
    const names = [...headers.keys()].toSorted()
    return [status, body.error.code, body.error.message.replaceAll(threadId, '…'), names]
  }

  async function stateOf(threadId: string): Promise<unknown> {
    const thread = fixture.threads.get(threadId)
    const { entries } = await thread.readdirFile('/')
    const session = threadId === theirs ? await fixture.threads.sessions.get(threadId) : null
    return [await fixture.threads.find(threadId), session, await thread.messages(), entries]
  }
})

test('E1 errors are shown to an operator and to no account', async () => {
  const threadId = await server.thread('acme')
  const key = 'sk-walnut1oak2elm3birch4'
  const error = {
    id: 'e1',
    threadId,
    at: 5,
    type: 'bad_request',
    message: `No model for ${key}.`,
    stack: null,
  }
  await fixture.store.write((tx) => recordError(tx, error))
  await fixture.store.write((tx) => recordError(tx, { ...error, id: 'e2', threadId: 'another' }))
  const path = `/threads/${threadId}/errors`
  const shown = { id: 'e1', at: 5, type: 'bad_request', message: 'No model for [secret].', stack: null }
  expect((await call(path, { token: OPERATOR })).body).toEqual({ errors: [shown] })
  expect((await call(`${path}?id=e2`, { token: OPERATOR })).body).toEqual({ errors: [] })
  const own = await call(path, { token: ACME })
  expect([own.status, own.body.error.code]).toEqual([403, 'forbidden'])
})

async function operations(): Promise<readonly Operation[]> {
  const app = createThreadApp({ client: new ThreadClient(), tokens: [{ token: OPERATOR }] })
  const document = (await (await app.request('/openapi.json')).json()) as {
    readonly paths: Record<string, Record<string, { readonly security?: readonly object[] }>>
  }
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security }]) => {
      const named = method.toUpperCase()
      return { name: `${named} ${path}`, method: named, path, isPublic: security?.length === 0 }
    }),
  )
}

function filled(path: string, threadId: string): string {
  return path
    .replace(/\{(?:threadId|sessionId)\}/, threadId)
    .replace('{requestId}', 'request')
    .replace('{runId}', 'run_1')
    .replace('{itemId}', 'message-of-acme')
}

/** A body for the methods that take one. */
function bodyFor(method: string): { readonly body?: object } {
  return method === 'GET' || method === 'DELETE' ? {} : { body: {} }
}
