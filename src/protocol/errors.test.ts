import { expect, test } from 'vitest'
import {
  MessageRejectedError,
  NoWorkerError,
  RequestNotFoundError,
  ThreadError,
  ThreadNotFoundError,
  ThreadTerminatedError,
} from './errors.js'

test('each error is told by its code, whatever copy made it', () => {
  const error: unknown = new ThreadTerminatedError('t', 'completed')
  expect(ThreadError.isInstance(error)).toBe(true)
  expect(ThreadTerminatedError.isInstance(error)).toBe(true)
  expect(ThreadNotFoundError.isInstance(error)).toBe(false)
  const ofAnotherCopy = Object.assign(new Error('x'), {
    code: 'thread_terminated',
    [Symbol.for('everthread.ThreadError')]: true,
  })
  expect(ThreadTerminatedError.isInstance(ofAnotherCopy)).toBe(true)
})

test('errors carry thread, code, cause and a sentence', () => {
  const cause = new Error('why')
  const error = new MessageRejectedError('t', 'Expected a text, got none.', cause)
  expect(error).toMatchObject({
    name: 'MessageRejectedError',
    threadId: 't',
    code: 'message_rejected',
    cause,
  })
  expect(error.message).toBe('Expected a text, got none.')
  expect(new ThreadTerminatedError('t', 'completed').message).toBe(
    'Expected an open thread, got "t", which is completed and accepts nothing more: create another thread.',
  )
})

test('errors of an answer name the request and the queue', () => {
  const unknown = new RequestNotFoundError('t', { id: 'approval_1', reason: 'no such request' })
  expect(unknown).toMatchObject({ code: 'request_not_found', requestId: 'approval_1' })
  expect(unknown.message).toBe(
    'Expected a request "approval_1" of thread "t" that waits for this answer, got no such request.',
  )
  const nobody: unknown = new NoWorkerError('t', { taskQueue: 'everthread', kept: 'answer' })
  expect(nobody).toMatchObject({ code: 'no_worker', taskQueue: 'everthread' })
  expect(NoWorkerError.isInstance(nobody)).toBe(true)
  expect(RequestNotFoundError.isInstance(nobody)).toBe(false)
})
