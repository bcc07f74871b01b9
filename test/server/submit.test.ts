import { expect, test } from 'vitest'
import { insertRun } from '../../src/store/threads/runs.js'
import { ACME, codeOf, serverFixture } from './server-fixture.js'

const { call, fixture } = serverFixture()

test('AR-CP.1 a message is accepted by an idle thread and queued by a busy one, over HTTP and by the client', async () => {
  const made = await call('/threads', { token: ACME, body: { agent: 'support', metadata: { desk: 3 } } })
  const { threadId } = made.body
  const send = (body: object) => call(`/threads/${threadId}/messages`, { token: ACME, body })
  const first = await send({ content: 'Hello', metadata: { from: 'web' } })
  expect([first.status, first.body.status]).toEqual([202, 'accepted'])
  expect((await send({ content: 'And more' })).body.status).toBe('queued')
  const other = await fixture.threads.create({ agent: 'support' })
  const run = { thread_id: other.threadId, number: 1, trigger_kind: 'message', started_at: 1 }
  await fixture.store.write((tx) => insertRun(tx, run))
  expect((await other.once('key').send('Into a run')).status).toBe('queued')
  const { messages } = await fixture.threads.get(threadId).messages()
  expect(messages[0]).toMatchObject({ content: 'Hello', metadata: { from: 'web' } })
  // Creates the thread that it is sent to, or selects it by its key.
  const submit = (key: string) =>
    call('/threads', { token: ACME, body: { agent: 'support', key, message: 'Hi' } })
  expect((await submit('ticket')).body.threadId).toBe((await submit('ticket')).body.threadId)
  expect(codeOf(await call('/threads/none/messages', { token: ACME, body: { content: 'x' } }))[0]).toBe(404)
})
