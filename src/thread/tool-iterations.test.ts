import { expect, test } from 'vitest'

import { doneCall, plan, run, step } from '../../test/support/control-states.js'
import { evaluateStop } from './stop-conditions.js'

const capped = { ...plan(), caps: { ...plan().caps, toolIterations: 3 } }
const called = step({ calls: [doneCall('work')] })

test('steps with tool calls end the run at their cap, and not one before it', () => {
  expect(evaluateStop(capped, run({ toolSteps: 2, steps: 40 }), called)).toEqual({ kind: 'go_on' })
  expect(evaluateStop(capped, run({ toolSteps: 3, steps: 5 }), called)).toMatchObject({ reason: 'max_steps' })
  expect(evaluateStop(plan(), run({ toolSteps: 3, steps: 5 }), called)).toEqual({ kind: 'go_on' })
})

test('an answer with text ends the turn before the cap of tool calls does', () => {
  const answered = step({ text: true })
  expect(evaluateStop(capped, run({ toolSteps: 3 }), answered)).toMatchObject({ reason: 'stop_on_response' })
})
