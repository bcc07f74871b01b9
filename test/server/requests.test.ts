import { fileURLToPath } from 'node:url'
import { NativeConnection, Worker } from '@temporalio/worker'
import { expect, test } from 'vitest'
import { putAgents } from '../../src/store/agents.js'
import { askRequest } from '../client/request-rows.js'
import { addChildRows } from '../support/child-rows.js'
import { ACME, codeOf, serverFixture } from './server-fixture.js'

const workflowsPath = fileURLToPath(new URL('../client/fixtures/answering-workflow.ts', import.meta.url))

const server = serverFixture()
const { call, fixture } = server

test('requests are listed page by page, oldest first, and read one by one', async () => {
  const threadId = await server.thread()
  for (const id of ['a', 'b', 'c'])
    await askRequest(fixture.store, {
      thread: threadId,
      id,
      kind: 'variables',
      args: null,
      requested_at: id.charCodeAt(0),
    })
  const first = await call('/requests?limit=2', { token: ACME })
  const last = await call(`/requests?limit=2&cursor=${first.body.next}`, { token: ACME })
  const ids = [...first.body.requests, ...last.body.requests].map(({ id }: { id: string }) => id)
  expect([ids, last.body.next]).toEqual([['a', 'b', 'c'], null])
  expect((await call(`/threads/${threadId}/requests/b`)).body).toMatchObject({ id: 'b', kind: 'variables' })
  const unknown = await call(`/threads/${threadId}/requests/none`)
  expect(codeOf(unknown)).toEqual([404, 'request_not_found'])
  expect(unknown.body.error.message).toContain('no request of this id')
  expect((await call('/requests?cursor=x')).status).toBe(400)
})

test('requests are those of one tree, and a filter that is none is refused', async () => {
  const threadId = await server.thread()
  const child = `child-of-${threadId}`
  await addChildRows(fixture.store, {
    id: child,
    parent: threadId,
    root: threadId,
    thread: { account: 'acme' },
  })
  await askRequest(fixture.store, { thread: child, id: 'below' })
  await askRequest(fixture.store, { thread: await server.thread(), id: 'elsewhere' })
  const { body } = await call(`/requests?root=${threadId}`, { token: ACME })
  expect(body.requests).toMatchObject([{ id: 'below', threadId: child }])
  for (const path of ['/requests?roof=x', '/threads?agents=x'])
    expect(codeOf(await call(path, { token: ACME }))).toEqual([400, 'bad_request'])
})

test('an approval is answered once, and the same answer again is fine', async () => {
  const connection = await NativeConnection.connect({ address: fixture.address })
  const worker = await Worker.create({ connection, taskQueue: fixture.taskQueue, workflowsPath })
  await worker.runUntil(async () => {
    const threadId = await server.thread()
    const id = await askRequest(fixture.store, { thread: threadId })
    await fixture.threads.get(threadId).workflow.signal<[string]>('know', id)
    const path = `/threads/${threadId}/requests/${id}`
    expect((await call(path)).body).toMatchObject({
      kind: 'approval',
      toolName: 'refund_order',
      args: { orderId: 'A-17' },
    })
    for (let time = 0; time < 2; time += 1)
      expect((await call(path, { body: { approved: true, by: 'ann' } })).body).toEqual({ child: null })
    const other = await call(path, { body: { approved: false } })
    expect(codeOf(other)).toEqual([409, 'request_answered'])
    expect(other.body.error.message).toContain('another answer, which stays')
    const answered = await call(path)
    expect(codeOf(answered)).toEqual([404, 'request_not_found'])
    expect(answered.body.error.message).toContain('one that was answered')
  })
  await connection.close()
})

test.each([
  ['nothing', {}],
  ['two answers at once', { approved: true, env: {} }],
  ['another kind of answer', { env: { A: 'b' } }],
  ['a result without a status', { result: {} }],
])('an answer with %s is 400', async (_what, body) => {
  const threadId = await server.thread()
  const id = await askRequest(fixture.store, { thread: threadId })
  expect((await call(`/threads/${threadId}/requests/${id}`, { body })).status).toBe(400)
})

test('values of variables are stored, sealed, and never read back', async () => {
  const threadId = await server.thread()
  const set = await call(`/threads/${threadId}/variables`, {
    method: 'PUT',
    body: { env: { API_KEY: 'sesame-1' } },
  })
  expect([set.status, set.body]).toEqual([204, ''])
  expect((await call(`/threads/${threadId}/variables`, { method: 'PUT', body: { env: {} } })).status).toBe(
    400,
  )
})

test('agents that workers run are listed for everybody', async () => {
  const agent = {
    name: 'support',
    type: 'ai_human',
    title: 'Support',
    description: null,
    icon: null,
    expose_as_tool: false,
    inventory: {},
  }
  await fixture.store.write((tx) => putAgents(tx, { agents: [agent], now: 1 }))
  expect((await call('/agents', { token: ACME })).body.agents).toMatchObject([
    { name: 'support', title: 'Support' },
  ])
})
