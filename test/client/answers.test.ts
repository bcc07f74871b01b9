import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Answer, ThreadHandle } from '../../src/client/index.js'
import { answerRequest, closeRequests, findRequest } from '../../src/store/calls/requests.js'
import { insertThread, updateThread } from '../../src/store/threads/threads.js'
import { createClientFixture } from './client-fixture.js'
import type { ClientFixture } from './client-fixture.js'
import { askRequest } from './request-rows.js'

let fixture: ClientFixture
let thread: ThreadHandle
let id: string

// No server: whatever is refused here was refused before anybody was called.
beforeEach(async () => {
  fixture = await createClientFixture()
  await fixture.store.write((tx) => insertThread(tx, { id: 't', agent: 'support', created_at: 1 }))
  thread = fixture.threads.get('t')
  id = await askRequest(fixture.store, { thread: 't' })
})
afterEach(() => fixture.close())

describe('an answer that is no answer', () => {
  const success = { status: 'success' } as const
  test.each<[string, unknown, string]>([
    [
      'without a form',
      {},
      'Expected an answer { approved } or { result } to request "approval_call_1_1_0", got none of them.',
    ],
    ['of two forms', { approved: true, env: { A: 'x' } }, 'got several of them'],
    ['that is a text', 'yes', 'got none of them'],
    ['that is nothing', null, 'got none of them'],
    ['approved by a text', { approved: 'yes' }, 'Expected "approved" to be true or false, got string.'],
    ['with a reason that is none', { approved: false, reason: 7 }, 'Expected "reason" to be a text'],
    [
      'with a long name',
      { approved: true, by: 'x'.repeat(5000) },
      'Expected "by" to have at most 4096 bytes',
    ],
    ['without variables', { env: {} }, 'Expected "env" to have the value of a variable, got none.'],
    ['with a number as variable', { env: { A: 7 } }, 'Expected the value of the variable "A" to be a text'],
    ['with a result that is a text', { result: 'ok' }, 'Expected "result" to be the result of a tool'],
    ['without a status', { result: { result: 1 } }, 'Expected "result.status" to be "success" or "error".'],
    ['still pending', { result: { status: 'pending' } }, 'Expected "result.status"'],
    ['with a BigInt', { result: { ...success, result: 7n } }, 'that JSON can carry'],
    ['with parts that are none', { result: { ...success, content: [{ type: 'text' }] } }, '"result.content"'],
    ['with a file of no kind', { result: { ...success, attachments: [{}] } }, 'Expected an attachment with'],
    [
      'above 4 MB',
      { result: { ...success, result: 'x'.repeat(5_000_000) } },
      'Expected a result of at most 4194304 bytes',
    ],
  ])('%s is refused with a sentence', async (_title, answer, problem) => {
    const responded = thread.respond(id, answer as Answer)
    await expect(responded).rejects.toMatchObject({ code: 'message_rejected' })
    await expect(responded).rejects.toThrow(problem)
    expect(await row()).toMatchObject({ status: 'open' })
  })
})

describe('a request', () => {
  test('takes answers of its own kind only', async () => {
    await expect(thread.respond(id, { env: { A: 'x' } })).rejects.toThrow(
      `Expected an answer { approved } or { result } to request "${id}", got { env }.`,
    )
    expect(await row()).toMatchObject({ status: 'open' })
  })

  test('that is unknown has a named error', async () => {
    await expect(thread.respond('approval_9', { approved: true })).rejects.toMatchObject({
      code: 'request_not_found',
      requestId: 'approval_9',
      message:
        'Expected a request "approval_9" of thread "t" that waits for this answer, got no request of this id.',
    })
    const nobody = fixture.threads.get('nobody').respond(id, { approved: true })
    await expect(nobody).rejects.toMatchObject({ code: 'thread_not_found' })
  })

  test('of another thread is unknown', async () => {
    await fixture.store.write((tx) => insertThread(tx, { id: 'u', agent: 'support', created_at: 1 }))
    const other = fixture.threads.get('u').respond(id, { approved: true })
    await expect(other).rejects.toMatchObject({ code: 'request_not_found' })
  })

  test('that was answered refuses another answer', async () => {
    await fixture.store.write((tx) => answerRequest(tx, { threadId: 't', id, approved: true, now: 6 }))
    const denied = thread.respond(id, { approved: false })
    await expect(denied).rejects.toMatchObject({ code: 'request_not_found' })
    await expect(denied).rejects.toThrow('one that has another answer, which stays')
    expect(await row()).toMatchObject({ status: 'answered', approved: true })
  })

  test('that was closed refuses every answer', async () => {
    await fixture.store.write((tx) => closeRequests(tx, { threadId: 't' }))
    const late = thread.respond(id, { approved: true })
    await expect(late).rejects.toMatchObject({ code: 'request_not_found' })
    await expect(late).rejects.toThrow('one that was ended')
  })

  test.each([
    ['terminated', { terminate_requested_at: 5 }],
    ['closed', { closed_at: 5, status: 'completed' }],
  ])('of a %s thread is not found any more', async (_title, patch) => {
    await fixture.store.write((tx) => updateThread(tx, 't', patch))
    await expect(thread.respond(id, { approved: true })).rejects.toMatchObject({ code: 'request_not_found' })
    expect(await row()).toMatchObject({ status: 'open' })
  })
})

test('an answer is kept where nobody can be told', async () => {
  await expect(thread.respond(id, { approved: false, reason: 'too much', by: 'ben' })).rejects.toMatchObject({
    code: 'temporal_unavailable',
  })
  expect(await row()).toMatchObject({
    status: 'answered',
    approved: false,
    reason: 'too much',
    answered_by: 'ben',
  })
})

async function row() {
  return fixture.store.read((db) => findRequest(db, 't', id))
}
