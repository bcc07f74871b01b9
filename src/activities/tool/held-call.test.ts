import { expect, test } from 'vitest'
import type { ResultAnswer } from '../../protocol/activities.js'
import { answerOfCall } from './held-call.js'

const input = { queued: true, run: 2, step: 5 }
const unfinished = { kind: 'unfinished' } as const
const recorded: ResultAnswer = { type: 'result', outcome: 'succeeded', operations: [{ kind: 'stop_run' }] }
const answered = { kind: 'answered', answer: recorded } as const
const open = { status: 'open', run: 2, step: 5 } as const
const over = { status: 'succeeded', run: 2, step: 5 } as const
const onlyOutcome = { type: 'result', outcome: 'succeeded', storedNothing: true }

test('a call without an outcome may run', () => {
  expect(answerOfCall(input, { found: unfinished, row: open })).toBeNull()
  expect(answerOfCall(input, { found: unfinished, row: null })).toBeNull()
})

test('T4 a retry of the step that ran a call gets its recorded answer', () => {
  expect(answerOfCall(input, { found: answered, row: over })).toBe(recorded)
  expect(answerOfCall({ ...input, queued: false }, { found: answered, row: over })).toBe(recorded)
})

test('T9 another step that names a finished queued call gets only its outcome', () => {
  for (const other of [
    { ...input, run: 3 },
    { ...input, step: 6 },
  ])
    expect(answerOfCall(other, { found: answered, row: over })).toEqual(onlyOutcome)
  // A call that the model made belongs to one step, whatever the row says.
  expect(answerOfCall({ ...input, queued: false, step: 6 }, { found: answered, row: over })).toBe(recorded)
})

test('a call that was closed before it began answers with the outcome of its row', () => {
  const closed = { ...over, status: 'cancelled' } as const
  expect(answerOfCall(input, { found: unfinished, row: closed })).toEqual({
    ...onlyOutcome,
    outcome: 'cancelled',
  })
})

test('a queued call that is over neither asks nor waits again', () => {
  const pending = { type: 'pending' } as const
  const found = { kind: 'answered', answer: pending } as const
  expect(answerOfCall(input, { found, row: over })).toEqual(onlyOutcome)
  expect(answerOfCall(input, { found, row: open })).toBe(pending)
})
