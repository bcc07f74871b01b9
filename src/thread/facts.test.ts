import { expect, test } from 'vitest'
import { idleControl } from '../../test/support/control-states.js'
import { LIMITS } from '../protocol/limits.js'
import type { ThreadControl } from './control.js'
import { factsSent, factsToSend, hasStored, withFacts, withWarning } from './facts.js'

const fact = (number: number) => ({ type: 'step.completed', payload: { step: number } })
const filled = (count: number): ThreadControl =>
  withFacts(idleControl(), ...Array.from({ length: count }, (_, index) => fact(index)))

test('facts wait in the order in which they were decided', () => {
  expect(withFacts(filled(2), fact(2)).facts).toEqual([fact(0), fact(1), fact(2)])
})

test('of the lengths of the queue only the last one waits', () => {
  const changed = (waiting: number) => ({ type: 'queue.changed', payload: { waiting } })
  const control = withFacts(withFacts(filled(LIMITS.waitingFacts - 1), changed(1)), changed(2))
  expect(control.facts.at(-1)).toEqual(changed(2))
  expect(control.factsDropped).toBe(0)
})

test('beyond a hundred facts are counted only', () => {
  const control = withFacts(filled(LIMITS.waitingFacts - 1), fact(1), fact(2), fact(3))
  expect(control.facts).toHaveLength(LIMITS.waitingFacts)
  expect(control.factsDropped).toBe(2)
  expect(factsToSend(control).at(-1)).toEqual({
    type: 'runtime.warning',
    payload: { code: 'facts_dropped', count: 2 },
  })
})

test('facts that are long are bounded by their bytes', () => {
  const long = { type: 'runtime.warning', payload: { code: 'x'.repeat(LIMITS.waitingFactBytes / 4) } }
  const control = withFacts(idleControl(), long, long, long, long)
  expect(control.facts).toHaveLength(3)
  expect(control.factsDropped).toBe(1)
})

test('without a loss only the facts are sent', () => {
  const control = filled(3)
  expect(factsToSend(control)).toBe(control.facts)
})

test('facts that were decided meanwhile wait for the next activity', () => {
  const sent = withFacts(filled(LIMITS.waitingFacts), fact(100))
  const meanwhile = withFacts(sent, fact(101))
  const control = factsSent(meanwhile, sent.facts, sent.factsDropped)
  expect(control.facts).toEqual([])
  expect(control.factsDropped).toBe(1)
  expect(factsSent(withFacts(control, fact(102)), control.facts, 0).facts).toEqual([fact(102)])
})

test('equal facts are told apart when they were sent', () => {
  const sent = withFacts(idleControl(), fact(1))
  expect(factsSent(withFacts(sent, fact(1)), sent.facts, 0).facts).toEqual([fact(1)])
})

test('a warning is a code and a sentence', () => {
  expect(withWarning(idleControl(), 'queue_full', 'The queue is full.').facts).toEqual([
    { type: 'runtime.warning', payload: { code: 'queue_full', message: 'The queue is full.' } },
  ])
})

test.each([
  [{ type: 'result' }, true],
  [{ type: 'result', untold: true }, false],
  [{ type: 'terminated' }, false],
  [{ type: 'moved' }, false],
] as const)('facts wait on where an activity stored nothing: %j', (answer, stored) => {
  expect(hasStored(answer)).toBe(stored)
})
