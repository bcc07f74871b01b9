import { expect, test } from 'vitest'

import { insertRun } from '../../src/store/threads/runs.js'
import { addChildRows } from '../support/child-rows.js'
import { ACME, codeOf, GLOBEX, OPERATOR, serverFixture } from './server-fixture.js'

const server = serverFixture()
const { call, fixture } = server

test('AR-SN.1 AR-CP.10 a session is read over HTTP as the client reads it', async () => {
  const body = {
    agent: 'support',
    metadata: { kind: 'ticket' },
    workspaceUri: 'tickets://17',
    title: 'Refund',
  }
  const { threadId: id } = (await call('/threads', { token: ACME, body })).body
  await addChildRows(fixture.store, { id: `${id}-c`, parent: id, root: id, thread: { account: 'acme' } })
  for (const query of ['', '?usage=true']) {
    const read = await call(`/sessions/${id}${query}`, { token: ACME })
    const usage = query !== ''
    expect([read.status, read.body]).toEqual([200, await fixture.threads.sessions.get(id, { usage })])
    expect(read.body).toMatchObject({
      ...{ metadata: { kind: 'ticket' }, workspaceUri: 'tickets://17' },
      threadCount: 2,
    })
  }
  expect((await call('/sessions', { token: ACME })).body).toEqual(await fixture.threads.sessions.list())
  expect(codeOf(await call(`/sessions/${id}-c`, { token: ACME }))).toEqual([409, 'thread_conflict'])
})

test('each command of a session is one request, which may be repeated', async () => {
  const id = await server.thread('acme')
  const command = async (name: string, body?: object) => {
    const given = { token: ACME, method: 'POST', ...(body !== undefined && { body }) }
    const [first, again] = [
      await call(`/sessions/${id}/${name}`, given),
      await call(`/sessions/${id}/${name}`, given),
    ]
    expect([again.status, again.body]).toEqual([200, first.body])
    return again.body
  }
  expect(await command('escalate', { to: 'ben', reason: 'Angry' })).toMatchObject({
    state: 'escalated',
    escalation: { to: 'ben' },
  })
  expect(await command('resolve')).toMatchObject({ state: 'idle', escalation: null })
  expect(await command('escalate')).toMatchObject({
    state: 'escalated',
    escalation: { to: null, reason: null },
  })
  expect(await command('resolve')).toMatchObject({ state: 'idle' })
  expect(await command('archive')).toMatchObject({ state: 'archived' })
  const refused = await call(`/threads/${id}/messages`, { token: ACME, body: { content: 'Hello' } })
  expect(codeOf(refused)).toEqual([409, 'thread_conflict'])
  expect(await command('unarchive')).toMatchObject({ state: 'idle' })
  const changes = { title: 'New', tags: ['vip'], metadata: { n: 1 }, workspaceUri: null }
  const patched = await call(`/sessions/${id}`, { token: ACME, method: 'PATCH', body: changes })
  expect(patched.body).toMatchObject({ title: 'New', tags: ['vip'] })
  expect(codeOf(await call(`/sessions/${id}`, { token: ACME, method: 'DELETE' }))).toEqual([
    409,
    'thread_conflict',
  ])
  const thread = fixture.threads.get(id)
  await thread.workflow.terminate('operator')
  await thread.terminate()
  const purged = await call(`/sessions/${id}`, { token: ACME, method: 'DELETE' })
  expect([purged.status, purged.body]).toEqual([200, { threads: 1, kept: [] }])
  expect(codeOf(await call(`/sessions/${id}`, { token: ACME }))).toEqual([404, 'thread_not_found'])
})

test('a wrong request changes nothing', async () => {
  const id = await server.thread('acme')
  const patch = (body: object) => call(`/sessions/${id}`, { token: ACME, method: 'PATCH', body })
  for (const wrong of [
    { state: 'archived' },
    { title: 7 },
    { metadata: 'text' },
    { metadata: { text: 'x'.repeat(17_000) } },
    { workspaceUri: 'x'.repeat(3000) },
  ])
    expect((await patch(wrong)).status).toBe(400)
  expect((await call('/sessions?state=asleep', { token: ACME })).status).toBe(400)
  expect((await call('/sessions?cursor=x', { token: ACME })).status).toBe(400)
  expect(
    (await call(`/sessions/${id}/escalate`, { token: ACME, method: 'POST', body: { to: '' } })).status,
  ).toBe(400)
  expect((await call(`/sessions/${id}`, { token: ACME })).body).toMatchObject({
    title: null,
    metadata: null,
    state: 'idle',
  })
})

test('the context of a run is read over HTTP as the client reads it', async () => {
  const id = await server.thread('acme')
  await fixture.store.write((tx) =>
    insertRun(tx, { thread_id: id, number: 1, trigger_kind: 'message', started_at: 1 }),
  )
  const read = await call(`/threads/${id}/runs/run_1/context`, { token: ACME })
  expect([read.status, read.body]).toEqual([200, await fixture.threads.get(id).runContext()])
  expect(read.body).toMatchObject({ runId: `${id}:run_1`, sessionId: id })
  expect(codeOf(await call(`/threads/${id}/runs/run_2/context`, { token: ACME }))).toEqual([404, 'not_found'])
})

test('a list has the sessions of one account, whatever it asks for', async () => {
  const [own, theirs] = [await server.thread('globex'), await server.thread('acme')]
  const ids = async (query: string, token: string): Promise<readonly string[]> =>
    (await call(`/sessions${query}`, { token })).body.sessions.map(
      ({ sessionId }: { readonly sessionId: string }) => sessionId,
    )
  expect(await ids('', GLOBEX)).toEqual([own])
  expect(await ids('?account=acme', GLOBEX)).toEqual([own])
  expect(await ids('?state=idle&account=acme', OPERATOR)).toEqual([theirs])
  expect((await ids('', OPERATOR)).toSorted()).toEqual([own, theirs].toSorted())
})
