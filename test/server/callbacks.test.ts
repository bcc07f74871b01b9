import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { ThreadClient } from '../../src/client/index.js'
import { serveThreads } from '../../src/server/index.js'
import type { ThreadServer } from '../../src/server/index.js'
import { createTestEnvironment, scriptedModel } from '../../src/testing/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { startReceiver } from '../support/receiver.js'
import type { Receiver } from '../support/receiver.js'
import { until } from '../support/until.js'
import { deskOfTests as desk } from './desk-of-tests.js'
import { ACME } from './server-fixture.js'

const secret = `whsec_${Buffer.from('a secret of thirty-two bytes, ok').toString('base64')}`
let env: TestEnvironment
let server: ThreadServer
let receiver: Receiver

beforeAll(async () => {
  vi.stubEnv('EVERTHREAD_EGRESS_ALLOW', '127.0.0.1')
  const chat = scriptedModel(({ messages }) => ({ text: `Heard: ${messages.at(-1)?.text}` }))
  env = await createTestEnvironment({ registry: desk, models: { chat } })
  const client = env.threads as ThreadClient
  server = await serveThreads({ client, tokens: [{ token: ACME, account: 'acme' }], port: 0, page: false })
})
afterAll(async () => {
  await server.close()
  await env.close()
  vi.unstubAllEnvs()
})
beforeEach(async () => {
  receiver = await startReceiver()
  return () => receiver.close()
})

// oxlint-disable-next-line typescript/no-explicit-any -- each test has its own shape of the body
type Body = any

async function post(path: string, body: object): Promise<{ readonly status: number; readonly body: Body }> {
  const answer = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ACME}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: answer.status, body: await answer.json() }
}

const callbacks = async (): Promise<number> =>
  (
    await env.store.read((db) =>
      db.selectFrom('webhooks').select('id').where('id', 'like', 'cb_%').orderBy('id').execute(),
    )
  ).length

const callback = () => ({ url: receiver.url, secret })
const bodies = () => receiver.posted.map(({ body }) => JSON.parse(body) as Body)

test('KP-02.2 a message that is posted with a callback is answered later by one post to that URL, signed', async () => {
  const { body: thread } = await post('/threads', { agent: 'support' })
  const path = `/threads/${thread.threadId}/messages`
  const message = { content: 'My tent leaks.', key: 'one', callback: callback() }
  const sent = await post(path, message)
  expect(sent.status).toBe(202)
  // Repeated with its key it is the same message, and has the same callback.
  expect((await post(path, message)).body).toEqual(sent.body)
  await until('the post', () => receiver.posted.length > 0)
  const [body] = bodies()
  const result = await env.threads.get(thread.threadId).waitUntilIdle()
  expect(body).toMatchObject({
    type: 'message.ended',
    threadId: thread.threadId,
    messageId: sent.body.messageId,
    end: { kind: 'delivered', runId: 'run_1' },
  })
  const { lastSequence: _posted, ...posted } = body.result
  const { lastSequence: _read, ...read } = result
  expect(posted).toEqual(JSON.parse(JSON.stringify(read)))
  expect(posted.reply.content).toBe('Heard: My tent leaks.')
  expect(receiver.posted[0]?.isSignedBy(secret)).toBe(true)
  await until('its callback to be gone', async () => (await callbacks()) === 0)
  // A later message has none, and nothing comes again.
  await post(path, { content: 'And the pole is bent.' })
  await env.threads.get(thread.threadId).waitUntilIdle()
  const { id } = await env.threads.webhooks.create({ url: receiver.url, account: 'acme', types: ['custom'] })
  expect((await env.threads.webhooks.list()).map((webhook) => webhook.id)).toEqual([id])
  expect(receiver.posted).toHaveLength(1)
})

test('a first message may have one, and a receiver that fails at first gets it once it accepts', async () => {
  receiver.answer = (_posted, count) => (count < 3 ? 500 : 200)
  await post('/threads', { agent: 'support', message: { content: 'Hello', callback: callback() } })
  await until('the third post', () => receiver.posted.length === 3)
  expect(new Set(receiver.posted.map(({ id }) => id)).size).toBe(1)
  expect(bodies()[2].result.reply.content).toBe('Heard: Hello')
})

test.each([
  [{ url: 'https://10.0.0.1/', secret }, 'public internet'],
  [{ url: 'http://example.org/', secret }, 'https'],
  [{ url: 'https://example.org/', secret: 'whsec_short' }, '24 to 64 bytes'],
])('the callback %j is refused, and nothing is accepted', async (given, problem) => {
  const { body: thread } = await post('/threads', { agent: 'support' })
  const path = `/threads/${thread.threadId}/messages`
  const refused = await post(path, { content: 'Hello', callback: given })
  expect([refused.status, refused.body.error.code]).toEqual([400, 'message_rejected'])
  expect(refused.body.error.message).toContain(problem)
  expect((await env.threads.get(thread.threadId).messages()).messages).toEqual([])
})
