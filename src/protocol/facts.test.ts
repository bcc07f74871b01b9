import { expect, test } from 'vitest'

import { PHASES, phaseFact } from './facts.js'

test('SA-R-03.0 a step has seven phases in this order', () => {
  expect(Object.values(PHASES)).toEqual([
    'drain',
    'assemble_context',
    'call_model',
    'persist_answer',
    'execute_tools',
    'persist_results',
    'stop_conditions',
  ])
})

test('a phase is a fact with its number and name', () => {
  expect(phaseFact(5, { runId: 'run_1' })).toEqual({
    type: 'step.phase',
    scope: { runId: 'run_1' },
    payload: { phase: 5, name: 'execute_tools' },
  })
})
