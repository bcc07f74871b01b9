import { describe, expect, test } from 'vitest'
import { doneCall, dualPlan, idleControl, NOW, plan, run, step } from '../../test/support/control-states.js'
import { advance } from './advance.js'
import type { ThreadControl } from './control.js'
import { leaveTurn } from './facts.js'
import { applyOperations } from './operations.js'
import type { Step } from './run.js'
import { evaluateStop } from './stop-conditions.js'

const STARTING = { kind: 'starting', wordless: false } as const

describe('a turn that is left between two steps', () => {
  const between = (patch: Parameters<typeof run>[0] = {}): ThreadControl =>
    idleControl({}, { plan: dualPlan({}, {}), run: run(patch) })
  const outside = (patch: Partial<Step>): Step =>
    step({ outside: true, calls: [doneCall('transfer')], ...patch })
  const listFacts = ({ facts }: ThreadControl): readonly unknown[] =>
    facts.map(({ type, payload }) => [
      type,
      'side' in payload ? payload.side : undefined,
      'reason' in payload ? payload.reason : undefined,
    ])

  test.each([
    ['a queued tool hands over', advance(between({ step: outside({ handOff: 'boss' }) })), 'hand_off'],
    ['a queued tool forces a turn', advance(between({ step: outside({ forcedTurn: 'b' }) })), 'forced_turn'],
    [
      'an effect hands over',
      applyOperations(between(), [{ kind: 'hand_off', agent: 'boss' }], NOW),
      'hand_off',
    ],
    ['a message is for the other side', leaveTurn(between(), null), null],
  ])('%s: its end is told', (_when, control, reason) => {
    expect(listFacts(control)).toEqual([['side.completed', 'a', reason]])
    expect(control.run?.turn.kind).toBe('starting')
  })

  test('a turn that has not begun has no end', () => {
    expect(listFacts(leaveTurn(between({ turn: STARTING }), null))).toEqual([])
    expect(listFacts(advance(between({ turn: STARTING, step: outside({ handOff: 'boss' }) })))).toEqual([])
    expect(leaveTurn(idleControl(), null)).toEqual(idleControl())
  })

  test('a turn that is told to have ended is told once', () => {
    expect(listFacts(leaveTurn(leaveTurn(between(), null), null))).toHaveLength(1)
  })
})

test.each([
  ['ends the turn and says so', { continues: 0, cutAnswers: 1, maxSteps: null }, 'answer_cut'],
  ['has its rest asked for', { continues: 2, cutAnswers: 2, maxSteps: null }, 'go_on'],
  ['is given up after so many', { continues: 2, cutAnswers: 3, maxSteps: null }, 'answer_cut'],
  // No step is left for the rest.
  ['is given up on the last step', { continues: 2, cutAnswers: 1, maxSteps: 1 }, 'answer_cut'],
])('P4 a text that is cut off %s', (_fact, { continues, cutAnswers, maxSteps }, expected) => {
  const made = plan({ maxSteps })
  const continued = Object.entries(made.prompts).map(([name, prompt]) => [
    name,
    { ...prompt, continueCutAnswers: continues },
  ])
  const asking = { ...made, prompts: Object.fromEntries(continued) }
  const judged = evaluateStop(
    asking,
    run({ truncatedAnswers: cutAnswers, sideSteps: { a: 1, b: 0 } }),
    step({ text: true, truncated: true }),
  )
  expect(judged.kind === 'end' ? judged.reason : judged.kind).toBe(expected)
})
