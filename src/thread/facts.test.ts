import { describe, expect, test } from 'vitest'
import { idleControl } from '../../test/support/control-states.js'
import { fact } from '../protocol/facts.js'
import { LIMITS } from '../protocol/limits.js'
import type { ThreadControl } from './control.js'
import {
  factsToSend,
  forgetSentFacts,
  hasStored,
  keepUnansweredFacts,
  withFacts,
  withQueueChange,
  withWarning,
} from './facts.js'

const stepFact = (number: number) => fact('step.completed', { step: number, reason: null })
const createControl = (count: number): ThreadControl =>
  withFacts(idleControl(), ...Array.from({ length: count }, (_, index) => stepFact(index)))

test('facts wait in the order in which they were decided', () => {
  expect(withFacts(createControl(2), stepFact(2)).facts).toEqual([stepFact(0), stepFact(1), stepFact(2)])
})

describe('changes of the queue', () => {
  const added = (...ids: readonly string[]) => ids.map((id) => ({ id, kind: 'message' }) as const)

  test('changes that wait for the same activity are one fact with all ids', () => {
    const first = withQueueChange(createControl(LIMITS.waitingFacts - 1), { added: added('a') })
    const control = withQueueChange(withQueueChange(first, { promoted: ['a'] }), {
      added: added('b'),
      taken: ['a'],
    })
    const payload = { waiting: 0, added: added('a', 'b'), taken: ['a'], promoted: ['a'] }
    expect(control.facts.at(-1)).toEqual(fact('queue.changed', payload))
    expect(control).toMatchObject({ factsDropped: 0, facts: { length: LIMITS.waitingFacts } })
  })

  test('what was stored is not told again by a fact that has grown since', () => {
    const sent = withQueueChange(idleControl(), { added: added('a'), taken: ['x'] })
    const grown = withQueueChange(withQueueChange(sent, { added: added('b') }), { removed: ['a'] })
    const left = fact('queue.changed', { waiting: 0, added: added('b'), removed: ['a'] })
    expect(forgetSentFacts(grown, sent).facts).toEqual([left])
    expect(forgetSentFacts(sent, sent).facts).toEqual([])
    const kept = keepUnansweredFacts(grown, sent, 5)
    expect(kept.unansweredFacts).toEqual([{ now: 5, facts: sent.facts }])
    expect(kept.facts).toEqual([left])
  })

  test('T10 ids that do not fit are counted', () => {
    const id = 'x'.repeat(LIMITS.waitingFactBytes / 4)
    const sent = withQueueChange(idleControl(), { added: added(id, id, id) })
    const grown = withQueueChange(withQueueChange(sent, { added: added(id) }), { taken: ['a'] })
    expect(grown).toMatchObject({ facts: [{ payload: { waiting: 0, unlisted: 4, taken: ['a'] } }] })
    expect(grown.factsDropped).toBe(0)
    expect(forgetSentFacts(grown, sent)).toMatchObject({
      facts: [{ payload: { waiting: 0, unlisted: 1, taken: ['a'] } }],
    })
  })
})

test('beyond a hundred facts are counted only', () => {
  const control = withFacts(createControl(LIMITS.waitingFacts - 1), stepFact(1), stepFact(2), stepFact(3))
  expect(control.facts).toHaveLength(LIMITS.waitingFacts)
  expect(control.factsDropped).toBe(2)
  expect(factsToSend(control).facts.at(-1)).toEqual({
    type: 'runtime.warning',
    payload: { code: 'facts_dropped', count: 2 },
  })
})

test('facts that are long are bounded by their bytes', () => {
  const long = fact('runtime.warning', {
    code: 'tool_skipped',
    message: 'x'.repeat(LIMITS.waitingFactBytes / 4),
  })
  const control = withFacts(idleControl(), long, long, long, long)
  expect(control.facts).toHaveLength(3)
  expect(control.factsDropped).toBe(1)
})

test('without a loss only the facts are sent', () => {
  const control = createControl(3)
  expect(factsToSend(control)).toEqual({ facts: control.facts })
})

test('facts that were decided meanwhile wait for the next activity', () => {
  const sent = withFacts(createControl(LIMITS.waitingFacts), stepFact(100))
  const meanwhile = withFacts(sent, stepFact(101))
  const control = forgetSentFacts(meanwhile, sent)
  expect(control.facts).toEqual([])
  expect(control.factsDropped).toBe(1)
  const answered = forgetSentFacts(withFacts(control, stepFact(102)), control)
  expect(answered.facts).toEqual([stepFact(102)])
})

test('equal facts are told apart when they were sent', () => {
  const sent = withFacts(idleControl(), stepFact(1))
  expect(forgetSentFacts(withFacts(sent, stepFact(1)), sent).facts).toEqual([stepFact(1)])
})

test('facts without an answer are sent again with the time at which they were sent', () => {
  const sent = createControl(1)
  const kept = keepUnansweredFacts(withFacts(sent, stepFact(1)), sent, 5)
  expect(kept.facts).toEqual([stepFact(1)])
  const again = { facts: [stepFact(1)], unansweredFacts: [{ now: 5, facts: [stepFact(0)] }] }
  expect(factsToSend(kept)).toEqual(again)
  const twice = keepUnansweredFacts(kept, kept, 9)
  expect(factsToSend(twice)).toEqual({
    facts: [],
    unansweredFacts: [...again.unansweredFacts, { now: 9, facts: [stepFact(1)] }],
  })
  expect(factsToSend(forgetSentFacts(withFacts(twice, stepFact(2)), twice))).toEqual({ facts: [stepFact(2)] })
})

test('an activity without facts leaves none to be sent again', () => {
  const control = idleControl()
  expect(keepUnansweredFacts(control, control, 5)).toBe(control)
})

test('facts without an answer count towards the bound', () => {
  const sent = createControl(LIMITS.waitingFacts)
  const control = withFacts(keepUnansweredFacts(sent, sent, 5), stepFact(100))
  expect(control.facts).toEqual([])
  expect(control.factsDropped).toBe(1)
})

test('a warning is a code and a sentence', () => {
  expect(withWarning(idleControl(), 'queue_full', 'The queue is full.').facts).toEqual([
    { type: 'runtime.warning', payload: { code: 'queue_full', message: 'The queue is full.' } },
  ])
})

test.each([
  [{ type: 'result' }, true],
  [{ type: 'result', storedNothing: true }, false],
  [{ type: 'terminated' }, false],
  [{ type: 'moved' }, false],
] as const)('facts wait on where an activity stored nothing: %j', (answer, stored) => {
  expect(hasStored(answer)).toBe(stored)
})
