import { expect, test } from 'vitest'

import { createThreadApp } from '../../src/server/index.js'
import { createClientFixture } from '../client/client-fixture.js'
import { OPERATOR, serverFixture } from './server-fixture.js'

const server = serverFixture()

test('a server whose store and Temporal answer is healthy and ready', async () => {
  expect((await server.call('/health', { token: '' })).body).toEqual({ status: 'ok' })
  const ready = await server.call('/ready', { token: '' })
  expect([ready.status, ready.body]).toEqual([200, { ready: true, store: true, temporal: true }])
})

test('a server without Temporal, or without its store, is healthy and not ready', async () => {
  const alone = await createClientFixture('127.0.0.1:1')
  const app = () => createThreadApp({ client: alone.threads, tokens: [{ token: OPERATOR }] })
  const ready = async () => {
    const response = await app().request('/ready')
    return [response.status, await response.json()]
  }
  const timers = () => process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length
  const before = timers()
  expect(await ready()).toEqual([503, { ready: false, store: true, temporal: false }])
  // A retry that is still due would use the closed connection and end the process.
  expect(timers()).toBeLessThanOrEqual(before)
  await alone.close()
  expect(await ready()).toEqual([503, { ready: false, store: false, temporal: false }])
  expect((await app().request('/health')).status).toBe(200)
})

test('a log has public routes by their own path', async () => {
  const logged: string[] = []
  const { threads: client } = server.fixture
  const app = createThreadApp({
    client,
    tokens: [{ token: OPERATOR }],
    log: ({ route }) => logged.push(route),
  })
  for (const path of ['/health', '/ready', '/nothing']) await (await app.request(path)).text()
  expect(logged).toEqual(['/health', '/ready', '/*'])
})
