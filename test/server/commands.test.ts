import { describe, expect, test } from 'vitest'
import { addChildRows } from '../support/child-rows.js'
import { ACME, codeOf, GLOBEX, serverFixture } from './server-fixture.js'

const server = serverFixture()
const { call, fixture } = server

/** Each route that changes a thread, with a body, another one, and what the thread needs for it. */
const ROUTES: readonly {
  readonly path: string
  readonly method?: string
  readonly body?: object | string
  readonly other?: object | string
}[] = [
  { path: 'messages', body: { content: 'One' }, other: { content: 'Two' } },
  { path: 'calls', body: { name: 'look' }, other: { name: 'look', arguments: { at: 1 } } },
  { path: 'stop', body: {}, other: { children: false } },
  { path: 'continue' },
  { path: 'terminate', body: { reason: 'a' }, other: { reason: 'b' } },
  { path: 'variables', method: 'PUT', body: { env: { KEY: '1' } }, other: { env: { KEY: '2' } } },
  { path: 'files/content?path=/a', method: 'PUT', body: 'one', other: 'two' },
  { path: 'files/content?path=/a', method: 'DELETE' },
]

describe.each(ROUTES)('$method $path', ({ path, method = 'POST', body, other }) => {
  test('AR-CC.1 three times under one Idempotency-Key: equal answers, one command, and 409 for other content', async () => {
    const thread = await fixture.threads.create({ agent: 'support', account: 'acme' })
    const ask = (sent: object | string | undefined, key = 'key') =>
      call(`/threads/${thread.threadId}/${path}`, {
        ...{ token: ACME, method, headers: { 'idempotency-key': key } },
        ...(sent !== undefined && { body: sent }),
      })
    const first = await ask(body)
    expect(first.status).toBeLessThan(300)
    for (const again of [await ask(body), await ask(body)])
      expect([again.status, again.body]).toEqual([first.status, first.body])
    expect(await keysOf(thread.threadId)).toEqual(['key'])
    if (other !== undefined) expect(codeOf(await ask(other))).toEqual([409, 'thread_conflict'])
    for (const key of ['', 'x'.repeat(129), 'x'.repeat(10_000)])
      expect(codeOf(await ask(body, key))).toEqual([400, 'bad_request'])
  })
})

test('AR-CC.1 the same key from two accounts names two threads and two messages', async () => {
  const headers = { 'idempotency-key': 'ticket-17' }
  const made = await Promise.all(
    [ACME, GLOBEX].map((token) => call('/threads', { token, headers, body: { agent: 'support' } })),
  )
  const [theirs, own] = made.map(({ body }) => body.threadId as string)
  expect(own).not.toBe(theirs)
  const again = await call('/threads', { token: ACME, headers, body: { agent: 'support' } })
  expect(again.body.threadId).toBe(theirs)
  expect(codeOf(await call(`/threads/${theirs}/stop`, { token: GLOBEX, headers, body: {} }))[0]).toBe(404)
})

test('AR-CC.1 a header and another key in the body are refused, and equal ones are one key', async () => {
  const { threadId } = await fixture.threads.create({ agent: 'support', account: 'acme' })
  const send = (key: string) =>
    call(`/threads/${threadId}/messages`, {
      ...{ token: ACME, headers: { 'idempotency-key': 'one' }, body: { content: 'x', key } },
    })
  expect(codeOf(await send('two'))).toEqual([400, 'bad_request'])
  expect((await send('one')).status).toBe(202)
  expect(await keysOf(threadId)).toEqual(['one'])
})

test('a tool is queued, read and of this account alone', async () => {
  const thread = await fixture.threads.create({ agent: 'support', account: 'acme', id: 't' })
  const body = { name: 'researcher', arguments: { topic: 'tents' } }
  const { body: queued } = await call('/threads/t/calls', { token: ACME, body })
  await addChildRows(fixture.store, {
    id: 'c',
    parent: 't',
    root: 't',
    entry: { call_id: queued.toolCallId },
  })
  const path = `/threads/t/calls/${queued.toolCallId}`
  expect((await call(path, { token: ACME })).body).toEqual({
    ...{
      toolCallId: queued.toolCallId,
      name: 'researcher',
      status: 'open',
      errorCode: null,
      failure: null,
      result: null,
    },
    ...{ live: null, decision: null, children: ['c'], startedAt: null, finishedAt: null },
  })
  expect(await thread.toolCall(queued.toolCallId)).toMatchObject({ name: 'researcher', children: ['c'] })
  expect(codeOf(await call('/threads/t/calls/none', { token: ACME }))).toEqual([404, 'not_found'])
  for (const asked of [path, '/threads/t/result'])
    expect((await call(asked, { token: GLOBEX })).status).toBe(404)
  expect((await call('/threads/t/calls', { token: GLOBEX, body })).status).toBe(404)
})

test('a wait that is over says why there is no result yet', async () => {
  await fixture.threads.create({ agent: 'support', id: 't', message: 'Hello' })
  const { status, body } = await call('/threads/t/result?seconds=0')
  expect(status).toBe(200)
  expect(body).toMatchObject({ idle: false, result: null })
  expect(body.reason).toContain('Expected thread "t" to be idle')
  for (const seconds of ['51', '-1', 'x'])
    expect(codeOf(await call(`/threads/t/result?seconds=${seconds}`))).toEqual([400, 'bad_request'])
})

describe('a body', () => {
  const small = serverFixture({ requestBytes: 2_000 })

  test('KP-12.1 of a byte more than 1 MB is refused before anything is stored, one of 1 MB is not too large', async () => {
    const { threadId } = await fixture.threads.create({ agent: 'support' })
    const sized = (bytes: number) => {
      const empty = JSON.stringify({ content: 'x', metadata: { a: '' } })
      return { content: 'x', metadata: { a: 'a'.repeat(bytes - empty.length) } }
    }
    const path = `/threads/${threadId}/messages`
    expect(codeOf(await call(path, { body: sized(2 ** 20 + 1) }))).toEqual([413, 'too_large'])
    expect((await fixture.threads.get(threadId).messages()).messages).toEqual([])
    expect((await call(path, { body: sized(2 ** 20) })).status).toBe(202)
  })

  test('is bounded as the server is told', async () => {
    const { threadId } = await small.fixture.threads.create({ agent: 'support' })
    const body = { content: 'x'.repeat(2_000) }
    expect(codeOf(await small.call(`/threads/${threadId}/messages`, { body }))).toEqual([413, 'too_large'])
  })
})

async function keysOf(threadId: string): Promise<readonly string[]> {
  const rows = await fixture.store.read((db) =>
    db.selectFrom('commands').select('key').where('thread_id', '=', threadId).execute(),
  )
  return rows.map(({ key }) => key)
}
