/** Who may call `/mcp` and with which threads, and what hostile input gets. */
import { describe, expect, test } from 'vitest'

import { createThreadApp } from '../../../src/server/index.js'
import { WAIT } from '../../../src/server/mcp/agent-state.js'
import { BEN, GLOBEX, mcpFixture, MIA, OPERATOR } from './mcp-fixture.js'

const KEY = 'k'.repeat(32)
const SHOP = 'https://shop.example'
const desk = mcpFixture({ threadTokens: { keys: [KEY] }, origins: [SHOP] })

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

test('there is no /mcp unless the server is told so', async () => {
  const app = createThreadApp({ client: desk.fixture.threads, tokens: [{ token: OPERATOR }], page: false })
  const headers = { authorization: `Bearer ${OPERATOR}` }
  expect((await app.request('/mcp', { method: 'POST', headers })).status).toBe(404)
})

test('mcp.agents that are no names are refused at the start', () => {
  const options = { client: desk.fixture.threads, tokens: [{ token: OPERATOR }] }
  expect(() => createThreadApp({ ...options, mcp: { agents: [''] } })).toThrow(
    'Expected "mcp.agents" to be names of agents',
  )
})

test('a server may offer only the agents that it names, also before a worker has recorded them', async () => {
  const options = { client: desk.fixture.threads, tokens: [{ token: OPERATOR }] }
  const app = createThreadApp({ ...options, mcp: { agents: ['desk', 'later', 'Größe 2'] } })
  const response = await app.request('/mcp', {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${OPERATOR}`, 'content-type': 'application/json' },
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(LIST),
  })
  const names = [...(await response.text()).matchAll(/"name":"(start_[^"]+)"/g)].map(([, name]) => name)
  expect(names).toEqual(['start_desk', 'start_later', expect.stringMatching(/^start_Gr__e_2_[0-9a-f]{8}$/)])
})

test('a client without a token is told where people log in', async () => {
  const login = {
    ...{ resource: 'https://agents.example/mcp', authorizationServers: ['https://login.example'] },
    scopes: ['agents'],
  }
  const options = { client: desk.fixture.threads, tokens: [{ token: OPERATOR }] }
  const app = createThreadApp({ ...options, mcp: { login } })
  const refused = await app.request('/mcp', { method: 'POST' })
  expect(refused.status).toBe(401)
  const place = 'https://agents.example/.well-known/oauth-protected-resource/mcp'
  expect(refused.headers.get('www-authenticate')).toBe(`Bearer resource_metadata="${place}", scope="agents"`)
  const metadata = await app.request(new URL(place).pathname)
  expect(await metadata.json()).toEqual({
    ...{ resource: 'https://agents.example/mcp', authorization_servers: ['https://login.example'] },
    ...{ bearer_methods_supported: ['header'], scopes_supported: ['agents'] },
  })
  expect((await app.request('/threads')).headers.get('www-authenticate')).toBe('Bearer')
  for (const bad of [
    { resource: 'mcp' },
    { authorizationServers: [] },
    { authorizationServers: ['javascript:1'] },
  ])
    expect(() => createThreadApp({ ...options, mcp: { login: { ...login, ...bad } } })).toThrow(
      'Expected "mcp.login" to have http addresses',
    )
})

test('a page of an origin of the list may send the headers of the protocol', async () => {
  const asked = await desk.app.request('/mcp', {
    method: 'OPTIONS',
    headers: {
      ...{ origin: SHOP, 'access-control-request-method': 'POST' },
      'access-control-request-headers': 'authorization,content-type,mcp-protocol-version,mcp-method,mcp-name',
    },
  })
  expect(asked.headers.get('access-control-allow-origin')).toBe(SHOP)
  const allowed = asked.headers.get('access-control-allow-headers')?.toLowerCase() ?? ''
  for (const header of ['mcp-protocol-version', 'mcp-method', 'mcp-name']) expect(allowed).toContain(header)
})

describe('a caller', () => {
  test.each([
    ['no token', { authorization: '' }, 401],
    ['a wrong token', { authorization: 'Bearer nobody-has-this-token' }, 401],
    ['the page of another origin', { origin: 'https://evil.example' }, 403],
    ['a page without an origin', { origin: 'null' }, 403],
    ['a page of an origin of the list', { origin: SHOP }, 200],
    ['a page of this machine', { origin: 'http://localhost:5173' }, 200],
    ['a body that is no JSON', { 'content-type': 'text/plain' }, 415],
  ])('with %s gets %j', async (_name, headers, status) => {
    expect((await desk.post(LIST, headers)).status).toBe(status)
  })

  test('with the token of one thread is refused', async () => {
    const user = await desk.connect()
    const { id } = await user.call('start_desk', { message: 'Hello' })
    const made = await desk.app.request(`/threads/${id}/tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${MIA}`, 'content-type': 'application/json' },
      body: JSON.stringify({ access: 'write' }),
    })
    const { token } = (await made.json()) as { token: string }
    expect((await desk.post(LIST, { authorization: `Bearer ${token}` })).status).toBe(403)
  })

  test('does not find threads of another account, which an operator does', async () => {
    const [mia, globex, operator] = await Promise.all(
      [MIA, GLOBEX, OPERATOR].map((token) => desk.connect({ token })),
    )
    const { id } = await mia!.call('start_desk', { message: 'please refund' })
    const [{ request }] = (await mia!.rest(id)).requests
    for (const [name, given] of [
      ['agent_get', { id }],
      ['agent_send', { id, message: 'Hello' }],
      ['agent_answer', { id, request, answer: { approved: true } }],
      ['agent_cancel', { id }],
    ] as const) {
      const foreign = await globex!.refused(name, given)
      const unknown = await globex!.refused(name, { ...given, id: 'x'.repeat(36) })
      expect(foreign).toBe(unknown.replaceAll('x'.repeat(36), id))
      expect(foreign).toMatch(/^thread_not_found: /)
    }
    expect(await operator!.call('agent_get', { id, wait: 0 })).toMatchObject({ status: 'needs_answer' })
    const key = { message: 'Hello', key: 'the-same' }
    const [one, other] = await Promise.all([
      mia!.call('start_desk', key),
      globex!.call('start_desk', { ...key, message: 'Other' }),
    ])
    expect(one.id).not.toBe(other.id)
  })
})

describe('bad input', () => {
  test.each([
    ['start_desk', {}],
    ['start_desk', { message: '' }],
    ['start_desk', { message: 'Hello', agent: 'mailer' }],
    ['start_desk', { message: 'Hello', key: '' }],
    ['start_desk', { message: 'Hello', key: 'k'.repeat(129) }],
    ['start_desk', { message: { toString: 'x' } }],
    ['agent_get', {}],
    ['agent_get', { id: '../../etc/passwd' }],
    ['agent_get', { id: 'x', wait: WAIT.longest + 1 }],
    ['agent_get', { id: 'x', wait: -1 }],
    ['agent_answer', { id: 'x', request: '' }],
    ['agent_answer', { id: 'x', request: 'y', answer: 'yes' }],
    ['agent_cancel', { id: 'x', reason: 'r'.repeat(1001) }],
    ['agent_cancel', { id: 'x', __proto__: null, constructor: {} }],
  ])('%s %j gets one error, and the server goes on', async (name, given) => {
    const user = await desk.connect()
    expect((await user.refused(name, given)).length).toBeLessThan(2000)
    await user.client.listTools()
  })

  test('a cursor that is none is named', async () => {
    const user = await desk.connect()
    const { id } = await user.call('start_desk', { message: 'Hello' })
    for (const after of ['-1', '1.', 'x', '9'.repeat(16), '1.5.6'])
      expect(await user.refused('agent_get', { id, after })).toMatch(/^bad_request: Expected "after"/)
    expect(await user.call('agent_get', { id, after: '999999999' })).toMatchObject({ text: '' })
  })

  test('an unknown agent and an unknown tool are no tools', async () => {
    const user = await desk.connect()
    for (const name of ['start_nobody', 'start_researcher', 'constructor', '__proto__', 'agent_delete'])
      await expect(user.client.callTool({ name, arguments: {} })).rejects.toThrow(/not found|disabled/)
  })

  test('a message of 1 MB is refused before it is read, and stores nothing', async () => {
    const count = async () => (await desk.fixture.threads.counts({ account: 'acme' })).counts
    const before = await count()
    const given = { name: 'start_desk', arguments: { message: 'x'.repeat(1024 * 1024) } }
    const response = await desk.post({ ...LIST, method: 'tools/call', params: given })
    expect(response.status).toBe(413)
    expect(await count()).toEqual(before)
  })

  test('JSON that is nested too deep or no UTF-8 is refused', async () => {
    const deep = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_answer","arguments":{"id":"x","request":"y","answer":{"a":${'['.repeat(5000)}${']'.repeat(5000)}}}}}`
    expect((await desk.post(deep)).status).toBe(400)
    expect((await desk.post('{', {})).status).toBe(400)
    expect((await desk.post('[]')).status).toBe(400)
  })

  test('a batch of an older client is answered one by one', async () => {
    const response = await desk.post(
      Array.from({ length: 20 }, (_, id) => ({ ...LIST, id })),
      { 'mcp-protocol-version': '2025-03-26' },
    )
    expect(response.status).toBe(200)
    expect([...(await response.text()).matchAll(/"id":\d+/g)]).toHaveLength(20)
  })

  test('GET and DELETE have no session to open or end', async () => {
    for (const method of ['GET', 'DELETE'])
      expect(
        (await desk.app.request('/mcp', { method, headers: { authorization: `Bearer ${MIA}` } })).status,
      ).toBe(405)
  })
})

test('calls in parallel do not mix', async () => {
  const [mia, ben] = [await desk.connect(), await desk.connect({ token: BEN })]
  const texts = await Promise.all(
    Array.from({ length: 8 }, async (_, index) => {
      const user = index % 2 === 0 ? mia : ben
      const { id } = await user.call('start_desk', { message: `tell ${index + 1}` })
      const thread = await desk.fixture.threads.find(id)
      return [(await user.rest(id)).text.split(' ').length, thread?.userId]
    }),
  )
  expect(texts).toEqual(texts.map((_, index) => [index + 1, index % 2 === 0 ? 'mia' : 'ben']))
})

test('a client that leaves stops nothing', async () => {
  const user = await desk.connect()
  const { id } = await user.call('start_desk', { message: 'tell 200' })
  const leaving = new AbortController()
  const read = user.client.callTool({ name: 'agent_get', arguments: { id } }, { signal: leaving.signal })
  setTimeout(() => leaving.abort(), 200)
  await expect(read).rejects.toThrow()
  expect(await user.rest(id)).toMatchObject({ status: 'finished' })
})
