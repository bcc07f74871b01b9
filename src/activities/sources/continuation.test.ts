import { expect, test } from 'vitest'

import type { PendingAnswer, WaitAnswer } from '../../protocol/activities.js'
import type { OperationRecord } from '../../store/operations.js'
import type { HeldCall } from '../tool/held-call.js'
import { answerOfPart, pendingProblem } from './continuation.js'

const asks: PendingAnswer = {
  ...{
    type: 'pending',
    requestId: 'call_1_1_0_input_1',
    kind: 'call',
    status: 'waiting_input',
    next: 'execute',
  },
}
const waits: WaitAnswer = { type: 'wait', until: 5_000, cause: 'call' }

/** A call whose operation was suspended with this answer, in a state. */
const suspended = (answer: PendingAnswer | WaitAnswer, state = 'waiting') =>
  ({ state, detail: { continuation: { number: 2, resume: {}, answer } } }) as unknown as OperationRecord
const none = { response: null, now: 4_999 } as const
const response = { requestId: 'call_1_1_0_input_1' }

test('a retry of the part that has asked returns its answer, and the answer of the request begins the next part', () => {
  expect(answerOfPart(none, suspended(asks))).toBe(asks)
  expect(answerOfPart({ ...none, response: { requestId: 'call_1_1_0_input_0' } }, suspended(asks))).toBe(asks)
  expect(answerOfPart({ ...none, response }, suspended(asks))).toBeNull()
})

test('a retry of the part that waits returns its answer, also with an older answer, and the time begins the next part', () => {
  expect(answerOfPart(none, suspended(waits))).toBe(waits)
  expect(answerOfPart({ ...none, response }, suspended(waits))).toBe(waits)
  expect(answerOfPart({ ...none, now: 5_000 }, suspended(waits))).toBeNull()
})

test('a person is asked 20 times by one call, however often it has waited for a time', () => {
  const after = (number: number, asked: number) =>
    ({ operation: { detail: { continuation: { number, asked } } } }) as unknown as HeldCall
  const question = { status: 'pending', resume: {} } as const
  expect(pendingProblem(after(900, 19), question)).toBeNull()
  expect(pendingProblem(after(21, 20), question)).toBe('The tool has asked 20 times, and did not end.')
  expect(pendingProblem(after(900, 20), { ...question, after: 1_000 })).toBeNull()
})

test.each([
  ['a call that nobody has begun', none, null],
  ['a call of one part', none, { state: 'waiting', detail: { asked: 1 } } as OperationRecord],
  ['a part that runs', none, suspended(asks, 'started')],
  ['a call whose activity was ended from outside', { ...none, failed: true as const }, suspended(asks)],
])('%s has no such answer', (_what, input, operation) => {
  expect(answerOfPart(input, operation)).toBeNull()
})
