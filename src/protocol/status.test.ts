import { expect, test } from 'vitest'
import { runOutcome } from './status.js'

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
