import { expect, test } from 'vitest'

import { endOf } from './answer-facts.js'
import type { ModelStep } from './model-step.js'

/** A step whose requests have used nothing yet. */
function stepOf(frame: object | null): ModelStep {
  return { input: { frame }, log: { sumUnreportedUsage: () => null } } as unknown as ModelStep
}

test('a step that fails ends its run, a nested one answers its call without a text', () => {
  expect(endOf(stepOf(null), 'model_failed')).toEqual({
    type: 'end',
    reason: 'model_failed',
    outcome: 'failed',
  })
  expect(endOf(stepOf({}), 'model_failed')).toMatchObject({ type: 'answered', text: false, calls: [] })
})
