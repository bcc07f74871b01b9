import { describe, expect, test } from 'vitest'

import { NOW, doneCall, dualPlan, idleControl, run, step } from '../../test/support/control-states.js'
import { advance } from './advance.js'
import type { Run, Step, ThreadControl } from './control.js'
import { applyOperations } from './operations.js'
import { turnLeft } from './turns.js'

describe('a turn that is left between two steps', () => {
  const between = (patch: Partial<Run> = {}): ThreadControl =>
    idleControl({}, { plan: dualPlan({}, {}), run: run(patch) })
  const outside = (patch: Partial<Step>): Run['step'] =>
    step({ outside: true, calls: [doneCall('transfer')], ...patch })
  const told = ({ facts }: ThreadControl): readonly unknown[] =>
    facts.map(({ type, payload }) => [type, payload?.['side'], payload?.['reason']])

  test.each([
    ['a queued tool hands over', advance(between({ step: outside({ handOff: 'boss' }) })), 'hand_off'],
    ['a queued tool forces a turn', advance(between({ step: outside({ forcedTurn: 'b' }) })), 'forced_turn'],
    [
      'an effect hands over',
      applyOperations(between(), [{ kind: 'hand_off', agent: 'boss' }], NOW),
      'hand_off',
    ],
    ['a message is for the other side', turnLeft(between(), null), null],
  ])('%s: its end is told', (_when, control, reason) => {
    expect(told(control)).toEqual([['side.completed', 'a', reason]])
    expect(control.run?.sideStarts).toBe(true)
  })

  test('a turn that has not begun has no end', () => {
    expect(told(turnLeft(between({ sideStarts: true }), null))).toEqual([])
    expect(told(advance(between({ sideStarts: true, step: outside({ handOff: 'boss' }) })))).toEqual([])
    expect(turnLeft(idleControl(), null)).toEqual(idleControl())
  })

  test('a turn that is told to have ended is told once', () => {
    expect(told(turnLeft(turnLeft(between(), null), null))).toHaveLength(1)
  })
})
