import { expect, test } from 'vitest'
import { CONTROL_STATES, controlStateOf } from './control-states.js'
import type { ControlFacts, ControlState } from './control-states.js'

const rest: ControlFacts = {
  ...{ status: 'idle', stale: false, run: null, lastRun: null, queued: 0 },
  ...{ phase: null, attempt: null, isStreaming: false, exceeded: [] },
}
const works: ControlFacts = { ...rest, status: 'running', run: { doing: 'model chat' }, phase: 3, attempt: 1 }
const ended = (reason: string): ControlFacts => ({ ...rest, lastRun: { reason } })

const CASES: readonly (readonly [ControlState, ControlFacts])[] = [
  ['accepted', rest],
  ['accepted', { ...rest, queued: 1 }],
  ['queued', { ...ended('stop_on_response'), queued: 1 }],
  ['preparing', { ...works, phase: 2, attempt: null }],
  ['running', works],
  ['running', { ...works, phase: 5, attempt: null }],
  ['streaming', { ...works, isStreaming: true }],
  ['retrying', { ...works, attempt: 2 }],
  ['waiting_input', { ...works, status: 'waiting_input' }],
  ['waiting_permission', { ...works, status: 'waiting_permission' }],
  ['waiting_resource', { ...works, status: 'waiting_resource' }],
  ['blocked', { ...ended('blocked'), status: 'blocked' }],
  ['lost', { ...works, status: 'lost', stale: true }],
  ['stale', { ...works, stale: true }],
  ['timed_out', { ...ended('budget_exceeded'), exceeded: ['maxRuntimeSeconds'] }],
  ['failed', { ...ended('budget_exceeded'), exceeded: ['maxCost'] }],
  ['failed', ended('model_failed')],
  ['failed', { ...rest, status: 'failed', stale: true }],
  ['completed', ended('stop_on_response')],
  ['completed', { ...rest, status: 'completed', stale: true }],
  ['cancelled', { ...ended('stopped'), status: 'stopped' }],
  ['cancelled', { ...rest, status: 'terminated', stale: true }],
]

test.each(CASES)('a thread is %s, case %#', (state, facts) => {
  expect(controlStateOf(facts)).toBe(state)
})

test('each of the sixteen states is one of these cases', () => {
  expect(CONTROL_STATES).toHaveLength(16)
  expect(new Set(CASES.map(([state]) => state))).toEqual(new Set(CONTROL_STATES))
})
