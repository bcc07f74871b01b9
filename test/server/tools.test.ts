import { expect, test } from 'vitest'
import { insertRequest } from '../../src/store/calls/requests.js'
import { insertToolCalls, recordDecision } from '../../src/store/calls/tool-calls.js'
import { listWorkerAgents } from '../../src/worker/worker-agents.js'
import { policyDesk } from '../support/policy-desk.js'
import { ACME, codeOf, GLOBEX, serverFixture } from './server-fixture.js'

const server = serverFixture()
const { call, fixture } = server

test('AR-CP.12 AR-SN.3 the tools of a thread are read over HTTP, by its account and with its permissions', async () => {
  const unlisted = await server.thread()
  await listWorkerAgents({ registry: policyDesk, store: fixture.store })
  const permissions = { 'orders.*': 'deny', 'agents.keep': 'require_approval' }
  const body = { agent: 'seller', permissions, permissionMode: 'untrusted' }
  const { threadId } = (await call('/threads', { token: ACME, body })).body
  const path = `/threads/${threadId}/tools`
  const answer = await call(path, { token: ACME })
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual(JSON.parse(JSON.stringify(await fixture.threads.get(threadId).tools())))
  expect(answer.body.tools).toMatchObject([
    { toolName: 'look', policy: 'denied', isReadOnly: true, decision: { rules: ['thread:orders.*'] } },
    { toolName: 'note', policy: 'ask', decision: { source: 'mode', mode: 'untrusted' } },
    { toolName: 'refund', policy: 'denied', isDestructive: true },
    { toolName: 'delegate', policy: 'ask' },
    { toolName: 'draft', policy: 'allowed', runtimeOwner: 'prompt' },
    { toolName: 'chief', policy: 'allowed' },
    { toolName: 'runner', policy: 'allowed' },
    { toolName: 'subagent_create', policy: 'ask', agents: { resident: 'ask' } },
    { toolName: 'subagent_message', policy: 'ask' },
  ])
  expect(codeOf(await call(path, { token: GLOBEX }))).toEqual([404, 'thread_not_found'])
  const unknown = await call(`/threads/${unlisted}/tools`)
  expect([unknown.status, unknown.body.recordedAt, unknown.body.tools]).toEqual([200, null, []])
  expect(unknown.body.unavailable).toContain('No worker of this store has recorded the agent')
})

test('AR-SN.9 the permissions of a thread are read over HTTP, by its account', async () => {
  await listWorkerAgents({ registry: policyDesk, store: fixture.store })
  const body = { agent: 'seller', permissions: { 'orders.*': 'deny' }, permissionMode: 'untrusted' }
  const { threadId } = (await call('/threads', { token: ACME, body })).body
  const path = `/threads/${threadId}/permissions`
  const answer = await call(path, { token: ACME })
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual(JSON.parse(JSON.stringify(await fixture.threads.get(threadId).permissions())))
  expect(answer.body).toMatchObject({
    modes: { thread: 'untrusted' },
    rules: [{ source: 'thread', effects: { 'orders.*': 'deny' } }],
    sandbox: 'unavailable',
  })
  expect(codeOf(await call(path, { token: GLOBEX }))).toEqual([404, 'thread_not_found'])
})

test('the record of an action is read over HTTP as by a client, by its account', async () => {
  const { threadId } = (await call('/threads', { token: ACME, body: { agent: 'seller' } })).body
  const asked = { threadId, callId: 'c', requestId: 'approval_c' }
  await fixture.store.write(async (tx) => {
    const placed = {
      thread_id: threadId,
      run: 1,
      step: 1,
      side: 'a',
      message_id: 'm',
      call_index: 0,
    } as const
    const named = { id: 'c', name: 'refund', provider_call_id: 'p', arguments: '{"apiKey":"k"}' } as const
    await insertToolCalls(tx, [{ ...placed, ...named }])
    await insertRequest(tx, {
      ...{ thread_id: threadId, id: asked.requestId, kind: 'approval', call_id: 'c', requested_at: 1 },
      detail: {
        kind: 'tool',
        arguments: {},
        approval: {},
        requester: null,
        preview: [{ type: 'text', text: 'Pays' }],
      },
    })
    const decision = { decision: 'asked', source: 'tool', requestId: asked.requestId } as const
    await recordDecision(tx, { ...asked, decision })
  })
  const path = `/threads/${threadId}/decisions`
  const answer = await call(path, { token: ACME })
  expect(answer.status).toBe(200)
  expect(answer.body.decisions).toEqual(
    JSON.parse(JSON.stringify(await fixture.threads.get(threadId).decisions())),
  )
  expect(answer.body.decisions).toMatchObject([
    {
      action: {
        arguments: { apiKey: '[redacted]' },
        artifacts: [{ kind: 'preview', mediaType: 'text/plain' }],
      },
      ...{
        permission: { mode: 'default', sources: ['tool'] },
        sandbox: { reason: 'not_begun' },
        outcome: null,
      },
    },
  ])
  expect(codeOf(await call(path, { token: GLOBEX }))).toEqual([404, 'thread_not_found'])
})

test('AR-SN.11 the routing of a thread is read over HTTP, by its account', async () => {
  const { threadId } = (await call('/threads', { token: ACME, body: { agent: 'seller' } })).body
  const path = `/threads/${threadId}/routing`
  const answer = await call(path, { token: ACME })
  expect([answer.status, answer.body.choice, answer.body.waitsFor]).toEqual([200, null, null])
  expect(answer.body).toEqual(JSON.parse(JSON.stringify(await fixture.threads.get(threadId).routing())))
  expect(codeOf(await call(path, { token: GLOBEX }))).toEqual([404, 'thread_not_found'])
})
