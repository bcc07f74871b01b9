import { sign } from 'hono/jwt'
import { describe, expect, test } from 'vitest'
import { createThreadApp } from '../../src/server/index.js'
import { addChildRows } from '../support/child-rows.js'
import { ACME, codeOf, GLOBEX, OPERATOR, serverFixture } from './server-fixture.js'

const KEY = 'k'.repeat(32)
const OLD = 'o'.repeat(32)
const server = serverFixture({ threadTokens: { keys: [KEY, OLD] }, origins: ['https://shop.example'] })
const { call, raw, fixture } = server

/** What a token for reading opens, and what one for writing opens besides. Every other operation is closed. */
const READ = [
  'joinAgUiRun',
  ...['getThread', 'getSnapshot', 'getTree', 'followEvents', 'waitForResult', 'getUsage', 'getThreadBudget'],
  ...['listMessages', 'readMessage', 'readToolCall', 'getRun', 'listFiles', 'downloadFile', 'getRequest'],
  ...['getVariablesRequest', 'getQueue', 'listChildren', 'getArtifacts'],
  ...['listUIMessages', 'resumeUIMessages'],
]
const WRITE = [
  'runAgUiThread',
  ...['sendMessage', 'stopThread', 'continueThread', 'removeQueued', 'uploadFile', 'answerRequest'],
  ...['supplyVariables', 'promoteQueued', 'cancelMessage', 'sendUIMessages'],
]

async function token(threadId: string, body: object = { access: 'write' }, by = ACME): Promise<string> {
  const made = await call(`/threads/${threadId}/tokens`, { token: by, body })
  expect(made.status).toBe(201)
  return made.body.token as string
}

interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
}

async function operations(): Promise<readonly Operation[]> {
  const { body } = await call('/openapi.json', { token: '' })
  return Object.entries(body.paths as Record<string, Record<string, { operationId: string }>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, { operationId: id }]) => ({
        ...{ id, method: method.toUpperCase() },
        path: path.replace('{threadId}', 't').replaceAll(/\{\w+\}/g, 'x'),
      })),
  )
}

test.each(['read', 'write'] as const)(
  'a token for %s opens the routes of its table, and no others',
  async (access) => {
    await fixture.threads.create({ agent: 'support', account: 'acme', id: 't' })
    const held = await token('t', { access })
    const opened: string[] = []
    for (const { id, method, path } of await operations()) {
      if (['getHealth', 'getReadiness'].includes(id)) continue
      const query = id === 'waitForResult' ? '?seconds=0' : id === 'followEvents' ? '?follow=false' : ''
      const { status } = await raw(`${path}${query}`, { token: held, method })
      expect([200, 202, 204, 400, 403, 404, 415], id).toContain(status)
      if (status !== 403) opened.push(id)
    }
    expect(opened.toSorted()).toEqual([...READ, ...(access === 'write' ? WRITE : [])].toSorted())
  },
)

test('a token sees no other thread, reads what is below its own, and makes no token', async () => {
  await fixture.threads.create({ agent: 'support', account: 'acme', id: 't' })
  await fixture.threads.create({ agent: 'support', account: 'acme', id: 'other' })
  await addChildRows(fixture.store, { id: 'c', parent: 't', root: 't', thread: { account: 'acme' } })
  await addChildRows(fixture.store, { id: 'd', parent: 'c', root: 't', thread: { account: 'acme' } })
  const held = await token('t')
  const other = await call('/threads/other/snapshot', { token: held })
  const none = await call('/threads/none/snapshot', { token: held })
  expect(codeOf(other)).toEqual([404, 'thread_not_found'])
  expect(codeOf(none)).toEqual([404, 'thread_not_found'])
  expect((await call('/threads/d/messages', { token: held })).status).toBe(200)
  const below = await call('/threads/d/messages', { token: held, body: { content: 'x' } })
  expect(codeOf(below)).toEqual([404, 'thread_not_found'])
  const more = await call('/threads/t/tokens', { token: held, body: { access: 'read' } })
  expect(codeOf(more)).toEqual([403, 'forbidden'])
  expect((await call('/threads/t/tokens', { token: GLOBEX, body: { access: 'read' } })).status).toBe(404)
  for (const path of [
    '/threads',
    '/sessions',
    '/requests',
    '/grants',
    '/agents',
    '/permissions?account=acme',
  ])
    expect(codeOf(await call(path, { token: held })), path).toEqual([403, 'forbidden'])
  const child = await token('c')
  expect((await call('/threads/t/messages', { token: child })).status).toBe(404)
})

describe('a token that is no good', () => {
  const claims = (more: object = {}) => {
    const now = Math.floor(Date.now() / 1000)
    return {
      ...{ iss: 'everthread', thread: 't', account: 'acme', access: 'write', iat: now, exp: now + 60 },
      ...more,
    }
  }
  const now = () => Math.floor(Date.now() / 1000)
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

  test.each([
    ['is over', () => sign(claims({ iat: now() - 60, exp: now() - 1 }), KEY)],
    ['lives for more than a day', () => sign(claims({ exp: now() + 90_000 }), KEY)],
    ['never ends', () => sign(claims({ exp: undefined }), KEY)],
    ['is of another key', () => sign(claims(), 'x'.repeat(32))],
    ['is of another issuer', () => sign(claims({ iss: 'other' }), KEY)],
    ['has no thread', () => sign(claims({ thread: undefined }), KEY)],
    ['has another access', () => sign(claims({ access: 'admin' }), KEY)],
    ['has no account', () => sign(claims({ account: undefined }), KEY)],
    ['has roles that are none', () => sign(claims({ roles: 'boss' }), KEY)],
    ['has another algorithm', () => sign(claims(), KEY, 'HS512')],
    ['is not signed', async () => `${encode({ alg: 'none', typ: 'JWT' })}.${encode(claims())}.x`],
    [
      'was changed',
      async () => {
        const [head, , signature] = (await sign(claims(), KEY)).split('.')
        return `${head}.${encode(claims({ thread: 'other' }))}.${signature}`
      },
    ],
  ])('because it %s opens nothing', async (_why, make) => {
    await fixture.threads.create({ agent: 'support', account: 'acme', id: 't' })
    await fixture.threads.create({ agent: 'support', account: 'acme', id: 'other' })
    const held = await make()
    for (const path of ['/threads/t/snapshot', '/threads/other/snapshot'])
      expect(codeOf(await call(path, { token: held }))).toEqual([401, 'unauthorized'])
  })

  test('of the key before is accepted', async () => {
    await fixture.threads.create({ agent: 'support', account: 'acme', id: 't' })
    expect((await call('/threads/t/snapshot', { token: await sign(claims(), OLD) })).status).toBe(200)
  })
})

test('a token has the user and roles of its caller, and no more', async () => {
  await fixture.threads.create({ agent: 'support', account: 'acme', id: 't' })
  const tokens = [
    { token: ACME, account: 'acme', user: 'ann', roles: ['clerk', 'boss'] },
    { token: GLOBEX, account: 'acme', user: 'bob' },
    { token: OPERATOR, account: 'acme' },
  ]
  const app = createThreadApp({
    ...{ client: fixture.threads, tokens, threadTokens: { keys: [KEY] }, log: () => undefined },
  })
  const ask = async (by: string, body: object): Promise<number> => {
    const headers = { authorization: `Bearer ${by}`, 'content-type': 'application/json' }
    const sent = { method: 'POST', headers, body: JSON.stringify({ access: 'write', ...body }) }
    return (await app.request('/threads/t/tokens', sent)).status
  }
  expect(await ask(ACME, {})).toBe(201)
  expect(await ask(ACME, { user: 'ann', roles: ['boss'] })).toBe(201)
  expect(await ask(ACME, { user: 'bob' })).toBe(403)
  expect(await ask(ACME, { roles: ['owner'] })).toBe(403)
  expect(await ask(GLOBEX, { roles: ['boss'] })).toBe(403)
  expect(await ask(OPERATOR, { user: 'eve', roles: ['boss'] })).toBe(201)
})

test('a token in the address opens what can send no header, and nothing else', async () => {
  await fixture.threads.create({ agent: 'support', account: 'acme', id: 't', message: 'Hello' })
  const thread = fixture.threads.get('t')
  await thread.writeFile('/a.txt', 'text', 'text/plain')
  const held = await token('t', { access: 'read' })
  const events = await raw(`/threads/t/events?follow=false&access_token=${held}`, { token: '' })
  expect([events.status, (await events.text()).includes('thread.started')]).toEqual([200, true])
  const file = await raw(`/threads/t/files/content?path=/a.txt&access_token=${held}`, { token: '' })
  expect(await file.text()).toBe('text')
  for (const path of ['/threads/t/snapshot', '/threads/t/messages'])
    expect((await raw(`${path}?access_token=${held}`, { token: '' })).status).toBe(401)
  const put = { token: '', method: 'PUT', body: 'x' }
  expect((await raw(`/threads/t/files/content?path=/a.txt&access_token=${held}`, put)).status).toBe(401)
  expect((await raw(`/threads/t/events?follow=false&access_token=${ACME}`, { token: '' })).status).toBe(401)
  expect(JSON.stringify(server.logged)).not.toContain(held)
})

test('a stream of events ends with its token', async () => {
  await fixture.threads.create({ agent: 'support', account: 'acme', id: 't' })
  const held = await token('t', { access: 'read', seconds: 2 })
  const began = performance.now()
  await (await raw('/threads/t/events', { token: held })).text()
  expect(performance.now() - began).toBeLessThan(10_000)
  expect((await raw('/threads/t/events', { token: held })).status).toBe(401)
})

describe('a page of another origin', () => {
  test('may call if the origin is listed', async () => {
    const id = await server.thread()
    const preflight = await raw(`/threads/${id}/messages`, {
      ...{ token: '', method: 'OPTIONS' },
      headers: {
        origin: 'https://shop.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,idempotency-key',
      },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe('https://shop.example')
    expect(preflight.headers.get('access-control-allow-headers')?.toLowerCase()).toContain('idempotency-key')
    expect(preflight.headers.get('access-control-allow-credentials')).toBeNull()
    const read = await raw(`/threads/${id}/snapshot`, {
      ...{ token: ACME, headers: { origin: 'https://shop.example' } },
    })
    expect(read.headers.get('access-control-allow-origin')).toBe('https://shop.example')
  })

  test.each(['https://evil.example', 'http://shop.example', 'https://shop.example.evil.example', 'null'])(
    'may not if it is %s',
    async (origin) => {
      const id = await server.thread()
      const headers = { origin, 'access-control-request-method': 'POST' }
      const preflight = await raw(`/threads/${id}/messages`, { token: '', method: 'OPTIONS', headers })
      expect(preflight.headers.get('access-control-allow-origin')).toBeNull()
      const read = await raw(`/threads/${id}/snapshot`, { token: ACME, headers: { origin } })
      expect(read.headers.get('access-control-allow-origin')).toBeNull()
    },
  )

  test.each([['*'], ['shop.example'], ['https://shop.example/'], ['null'], ['']])(
    'is not listed as %j',
    (origin) => {
      expect(() =>
        createThreadApp({ client: fixture.threads, tokens: [{ token: OPERATOR }], origins: [origin] }),
      ).toThrow('Expected each of "origins"')
    },
  )
})

test.each([[[]], [['short']]])('keys that sign nothing safely are refused: %j', (keys) => {
  expect(() =>
    createThreadApp({ client: fixture.threads, tokens: [{ token: OPERATOR }], threadTokens: { keys } }),
  ).toThrow('threadTokens.keys')
})

test("a login of one's own may have tokens of the same form", async () => {
  await fixture.threads.create({ agent: 'support', account: 'acme', id: 't' })
  const login = await sign({ iss: 'https://login.example', sub: 'ann' }, 'x'.repeat(32))
  const app = createThreadApp({
    ...{ client: fixture.threads, threadTokens: { keys: [KEY] }, log: () => undefined },
    authenticate: async (request) =>
      request.headers.get('authorization') === `Bearer ${login}` ? { account: 'acme' } : null,
  })
  const ask = async (held: string): Promise<number> =>
    (await app.request('/threads/t', { headers: { authorization: `Bearer ${held}` } })).status
  expect([await ask(login), await ask(await token('t')), await ask(`${login}x`)]).toEqual([200, 200, 401])
})

test('a token of a thread that was deleted does not open the one that has its id now', async () => {
  await fixture.threads.create({ agent: 'support', id: 't' })
  const held = await token('t', { access: 'read' }, OPERATOR)
  expect((await call('/threads/t/messages', { token: held })).status).toBe(200)
  await fixture.store.write((tx) => tx.updateTable('threads').set({ account: 'acme' }).execute())
  expect(codeOf(await call('/threads/t/messages', { token: held }))).toEqual([404, 'thread_not_found'])
})

test('an answer with a token of a thread is remembered for that thread alone', async () => {
  await fixture.threads.create({ agent: 'support', account: 'acme', id: 't' })
  const held = await token('t')
  const answer = (scope: string) =>
    call('/threads/t/requests/none', {
      ...{ token: held, body: { approved: true, remember: { for: scope } } },
    })
  for (const scope of ['user', 'tree']) expect(codeOf(await answer(scope))).toEqual([403, 'forbidden'])
  expect((await answer('thread')).status).toBe(404)
})
