import { expect, test } from 'vitest'
import { formatCost, runOutcome } from './status.js'

test.each([
  ['stop_on_response', 'completed'],
  ['answer_cut', 'completed'],
  ['stop_tool', 'completed'],
  ['session_stop', 'completed'],
  ['nothing_to_do', 'completed'],
  ['stopped', 'cancelled'],
  ['terminated', 'cancelled'],
  ['session_fail', 'failed'],
  ['max_steps', 'failed'],
  ['model_failed', 'failed'],
  ['a reason of a later version', 'failed'],
])('a run that ended for %s is %s', (reason, outcome) => {
  expect(runOutcome(reason)).toBe(outcome)
})

test.each([
  [null, 'unknown'],
  [0, '$0.00'],
  [1, '<$0.0001'],
  [100, '$0.0001'],
  [12_345, '$0.0123'],
  [999_940, '$0.9999'],
  [1_500_000, '$1.50'],
  [1_234_567_890, '$1234.57'],
])('a cost of %j millionths is read as %s', (cost, text) => expect(formatCost(cost)).toBe(text))
