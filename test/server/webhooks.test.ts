import { afterEach, beforeEach, expect, test } from 'vitest'
import { ThreadClient } from '../../src/client/index.js'
import { serveThreads } from '../../src/server/index.js'
import { fact } from '../../src/protocol/facts.js'
import { appendEvents } from '../../src/store/events.js'
import { startReceiver } from '../support/receiver.js'
import type { Receiver } from '../support/receiver.js'
import { until } from '../support/until.js'
import { ACME, codeOf, GLOBEX, OPERATOR, serverFixture } from './server-fixture.js'

const server = serverFixture()
const { call, fixture } = server
const URL_OF_HOOK = 'https://example.org/hook'

let receiver: Receiver
beforeEach(async () => {
  receiver = await startReceiver()
})
afterEach(() => receiver.close())

const create = (token: string, body: object = {}) =>
  call('/webhooks', { token, body: { url: URL_OF_HOOK, ...body } })

test('an account has the events of its own webhooks posted again', async () => {
  const { body: webhook } = await create(ACME)
  const threadId = await server.thread('acme')
  const again = (token: string, eventId: string) =>
    call(`/webhooks/${webhook.id}/redeliver`, { token, body: { eventId } })
  expect(await again(ACME, `${threadId}:1`)).toMatchObject({ status: 200, body: { id: webhook.id } })
  expect(codeOf(await again(ACME, `${threadId}:99`))).toEqual([400, 'bad_request'])
  expect(codeOf(await again(GLOBEX, `${threadId}:1`))).toEqual([404, 'not_found'])
})

test('an account makes, sees, changes and deletes its own webhooks only', async () => {
  const made = await create(ACME, { types: ['run.*'] })
  expect(made).toMatchObject({ status: 201, body: { account: 'acme', state: 'active', types: ['run.*'] } })
  const { secret, ...webhook } = made.body
  expect(secret).toMatch(/^whsec_/)
  const path = `/webhooks/${webhook.id}`
  expect((await call(path, { token: ACME })).body).toEqual(webhook)
  expect((await call('/webhooks', { token: ACME })).body).toEqual({ webhooks: [webhook] })
  expect((await call('/webhooks', { token: GLOBEX })).body).toEqual({ webhooks: [] })
  const foreign = [
    await call(path, { token: GLOBEX }),
    await call(path, { token: GLOBEX, method: 'PATCH', body: { state: 'paused' } }),
    await call(path, { token: GLOBEX, method: 'DELETE' }),
    await call('/webhooks/nothing', { token: ACME }),
  ]
  expect(foreign.map(codeOf)).toEqual(foreign.map(() => [404, 'not_found']))
  const changed = await call(path, { token: ACME, method: 'PATCH', body: { state: 'paused', types: null } })
  expect(changed).toMatchObject({ status: 200, body: { state: 'paused', types: null } })
  expect((await call(path, { token: ACME, method: 'DELETE' })).status).toBe(204)
  expect(codeOf(await call(path, { token: OPERATOR }))).toEqual([404, 'not_found'])
})

test('an account names neither another account nor a thread of another one', async () => {
  const theirs = await server.thread('globex')
  expect(codeOf(await create(ACME, { account: 'globex' }))).toEqual([403, 'forbidden'])
  expect(codeOf(await create(ACME, { threadId: theirs }))).toEqual([404, 'thread_not_found'])
  expect(codeOf(await create(ACME, { threadId: 'nobody' }))).toEqual([404, 'thread_not_found'])
  expect((await create(GLOBEX, { threadId: theirs })).status).toBe(201)
  expect((await create(OPERATOR, { account: 'acme' })).body).toMatchObject({ account: 'acme' })
})

test.each([
  { url: 'http://example.org/' },
  { url: 'https://127.0.0.1/' },
  { url: 'https://[::ffff:10.0.0.1]/' },
  { url: 'https://169.254.169.254/latest' },
  { url: '' },
  { types: ['Everything'] },
  { state: 'paused' },
])('%j is refused', async (body) => {
  expect(codeOf(await create(ACME, body))).toEqual([400, 'bad_request'])
  expect((await call('/webhooks', { token: OPERATOR })).body).toEqual({ webhooks: [] })
})

test('a server that listens delivers what its account may see, and ends with its last request', async () => {
  const client = new ThreadClient({ store: fixture.place, egress: { allow: ['127.0.0.1'] } })
  const options = { client, tokens: [{ token: ACME, account: 'acme' }], port: 0 }
  const [one, other] = [await serveThreads(options), await serveThreads(options)]
  const made = await fetch(`${one.url}/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ACME}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: receiver.url, types: ['custom'] }),
  })
  const { secret } = (await made.json()) as { readonly secret: string }
  const [own, theirs] = [await server.thread('acme'), await server.thread('globex')]
  for (const name of ['one', 'two', 'three'])
    for (const threadId of [own, theirs])
      await fixture.store.write((tx) =>
        appendEvents(tx, { threadId, events: [fact('custom', { name, data: null })], now: 1 }),
      )
  await until('three posts', () => receiver.posted.length >= 3)
  await one.close()
  await other.close()
  await client.close()
  expect(receiver.posted.map(({ threadId, sequence }) => [threadId, sequence])).toEqual([
    [own, 3],
    [own, 4],
    [own, 5],
  ])
  expect(receiver.posted.every(({ isSignedBy }) => isSignedBy(secret))).toBe(true)
})
