import { expect, test } from 'vitest'
import { appendMessage } from '../../src/store/messages/delivery.js'
import { ACME, codeOf, GLOBEX, OPERATOR, serverFixture } from './server-fixture.js'

const server = serverFixture()
const { call, fixture } = server

/** A thread with three messages of a person. */
async function origin(): Promise<string> {
  const id = await server.thread('acme')
  const row = { threadId: id, role: 'user', createdAt: 1, sentBy: 'client' } as const
  await fixture.store.write(async (tx) => {
    for (const name of ['m1', 'm2', 'm3'])
      await appendMessage(tx, { ...row, id: name, content: `Say ${name}` })
  })
  return id
}

test('a thread is forked over HTTP under a key, once, for the account that has it', async () => {
  const id = await origin()
  const ask = (body: object, token = ACME) => call(`/threads/${id}/fork`, { token, body })
  const made = await ask({ before: 'm2', message: 'Other', key: 'k' })
  const { threadId } = made.body
  expect([made.status, made.body]).toEqual([201, await fixture.threads.find(threadId)])
  expect(made.body).toMatchObject({ account: 'acme', forkedFrom: { threadId: id, messageId: 'm1' } })
  expect((await ask({ before: 'm2', message: 'Other', key: 'k' })).body).toMatchObject({ threadId })
  const messages = await call(`/threads/${threadId}/messages`, { token: ACME })
  expect(messages.body.messages.map(({ content }: { content: string }) => content)).toEqual([
    'Say m1',
    'Other',
  ])
  expect((await call(`/threads/${threadId}/snapshot`, { token: ACME })).body.forkedFrom).toEqual({
    ...{ threadId: id, messageId: 'm1' },
  })
  const again = await ask({ again: true })
  const asked = await call(`/threads/${again.body.threadId}/messages`, { token: ACME })
  expect(asked.body.messages.map((message: { id: string }) => message.id)).toEqual(['m1', 'm2', 'm3'])
  expect((await ask({ id: 'fork-of-an-operator' }, OPERATOR)).body).toMatchObject({
    ...{ threadId: 'fork-of-an-operator', account: 'acme' },
  })
})

test('a fork of a foreign thread, with an id of an account, or of nothing, is refused by name', async () => {
  const id = await origin()
  const ask = async (body: object, token = ACME) => codeOf(await call(`/threads/${id}/fork`, { token, body }))
  expect(await ask({}, GLOBEX)).toEqual([404, 'thread_not_found'])
  expect(await ask({ id: 'mine' })).toEqual([403, 'forbidden'])
  expect(await ask({ at: 'nothing' })).toEqual([404, 'message_not_found'])
  expect(await ask({ at: 'm1', before: 'm1' })).toEqual([400, 'bad_request'])
  expect(await ask({ again: false })).toEqual([400, 'bad_request'])
  expect(await ask({ upTo: 'm1' })).toEqual([400, 'bad_request'])
})
