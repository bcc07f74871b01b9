import { expect, test } from 'vitest'
import { insertOperation } from '../../src/store/operations.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { ACME, codeOf, GLOBEX, serverFixture } from './server-fixture.js'

const server = serverFixture()
const { call, fixture } = server

const usage = { inputTokens: 100, outputTokens: 10, cachedInputTokens: 0, cost: 1500 }
const request = { model: 'chat', prices: {}, usage, error: null, took: 800 }

test('what a thread and its tree have used is read over HTTP, by its account only', async () => {
  const { threadId } = (await call('/threads', { token: ACME, body: { agent: 'support' } })).body
  await fixture.store.write(async (tx) => {
    await insertThread(tx, { id: 'below', agent: 'support', created_at: 1, parent_thread_id: threadId })
    for (const thread_id of [threadId, 'below'])
      await insertOperation(tx, {
        ...{ thread_id, id: 'model_1_1', kind: 'model', state: 'finished', attempt: 1, started_at: 1 },
        ...{ answer: { type: 'answered' }, detail: { plan: 'p', requests: [request] } },
      })
  })
  const path = `/threads/${threadId}/usage`
  const own = await call(path, { token: ACME })
  expect([own.status, own.body]).toEqual([200, await fixture.threads.get(threadId).usage()])
  expect(own.body).toMatchObject({ threads: 1, steps: 1, requests: 1, cost: 1500, answerTime: { p95: 800 } })
  const tree = await call(`${path}?tree=true`, { token: ACME })
  expect(tree.body).toMatchObject({ threads: 2, requests: 2, inputTokens: 200, cost: 3000 })
  expect((await call(`${path}?tree=false`, { token: ACME })).body).toEqual(own.body)
  expect(codeOf(await call(path, { token: GLOBEX }))).toEqual([404, 'thread_not_found'])
  expect((await call(`${path}?tree=yes`, { token: ACME })).status).toBe(400)
  expect((await call(`${path}?trees=true`, { token: ACME })).status).toBe(400)
})
