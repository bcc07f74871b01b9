/** Limits of accounts, streams and failures at `/mcp`. */
import { expect, test } from 'vitest'

import { createThreadApp } from '../../../src/server/index.js'
import type { RequestEntry } from '../../../src/server/index.js'
import { createClientFixture } from '../../client/client-fixture.js'
import { mcpFixture, OPERATOR } from './mcp-fixture.js'

const desk = mcpFixture({ rateLimits: { messagesPerMinute: 2 } })

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

test('messages of a session are limited as over every other route', async () => {
  const user = await desk.connect()
  const { id } = await user.call('start_desk', { message: 'Hello' })
  await user.call('agent_send', { id, message: 'Again' })
  expect(await user.refused('agent_send', { id, message: 'Too much' })).toMatch(
    /^rate_limited: Expected at most 2 messages of a session in a minute/,
  )
  expect(await user.rest(id)).toMatchObject({ status: 'finished' })
})

test('a stream of announcements is acknowledged, and ends: nothing is announced', async () => {
  const began = Date.now()
  const response = await desk.post(
    {
      ...{ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen' },
      params: { notifications: { toolsListChanged: true }, _meta: META },
    },
    { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
  )
  expect(response.status).toBe(200)
  expect(await response.text()).toContain('notifications/subscriptions/acknowledged')
  expect(Date.now() - began).toBeLessThan(30_000)
})

test('without Temporal a start is kept, is told of in one sentence, and is logged as a failure', async () => {
  const fixture = await createClientFixture()
  const logged: RequestEntry[] = []
  const app = createThreadApp({
    ...{ client: fixture.threads, tokens: [{ token: OPERATOR }], mcp: { agents: ['desk'] } },
    log: (entry) => void logged.push(entry),
  })
  const response = await app.request('http://127.0.0.1/mcp', {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${OPERATOR}`, 'content-type': 'application/json' },
      ...{ accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28' },
      ...{ 'mcp-method': 'tools/call', 'mcp-name': 'start_desk' },
    },
    body: JSON.stringify({
      ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
      params: { name: 'start_desk', arguments: { message: 'Hello', key: 'k' }, _meta: META },
    }),
  })
  const text = await response.text()
  expect(text).toContain(
    'temporal_unavailable: Expected an answer of Temporal, got none: what was accepted is kept',
  )
  expect(text).not.toContain('127.0.0.1')
  expect(logged).toMatchObject([{ route: '/mcp', status: 200, error: { code: 'temporal_unavailable' } }])
  await fixture.close()
}, 60_000)
