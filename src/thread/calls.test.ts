import { expect, test } from 'vitest'
import { withCalls } from '../../test/support/control-states.js'
import { locateInStep } from './calls.js'
import { stepOf } from './run.js'
import type { Step } from './run.js'

const step = (outside = false): Step => {
  const found = stepOf(withCalls('work', 'draft').run)
  if (found == null) throw new Error('Expected a step, got none.')
  return {
    ...found,
    outside,
    calls: [...found.calls, { id: 'queued', name: 'draft', queued: true, state: 'open' }],
  }
}

test('the first and the last call of a step mark its phases', () => {
  expect(locateInStep(step(), { id: 'c0' })).toEqual({ isFirst: true, isLast: false })
  expect(locateInStep(step(), { id: 'c1' })).toEqual({ isFirst: false, isLast: false })
  expect(locateInStep(step(), { id: 'queued' })).toEqual({ isFirst: false, isLast: true })
})

test('nested calls and tools of the inbox mark none', () => {
  const none = { isFirst: false, isLast: false }
  expect(locateInStep(step(), { id: 'c1_0' })).toEqual(none)
  expect(locateInStep(step(true), { id: 'queued' })).toEqual(none)
})
