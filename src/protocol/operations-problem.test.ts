import { expect, test } from 'vitest'
import { LIMITS } from './limits.js'
import { operationsProblem } from './message-problems.js'

const GOOD = [
  { kind: 'queue_message', id: 'm', role: 'assistant' },
  { kind: 'queue_tool', id: 't', name: 'work' },
  { kind: 'schedule_effect', id: 'e', dueAt: 5 },
  { kind: 'remove_effect', id: 'e' },
  { kind: 'remove_queued', id: 'm' },
  { kind: 'set_env' },
  { kind: 'terminate' },
]

test('every operation that a thread may tell is taken', () => {
  expect(operationsProblem({ operations: GOOD, later: 1 })).toBeUndefined()
  expect(operationsProblem({ operations: [] })).toBeUndefined()
})

test.each([
  ...[undefined, null, 'x', [], { undecodable: true }, { operations: 'terminate' }].map((input) => ({
    input,
  })),
  ...[
    'terminate',
    null,
    { kind: 'hand_off', agent: 'boss' },
    { kind: 'signal_thread', to: 't', operation: { kind: 'terminate' } },
    { kind: 'constructor' },
    { kind: 'queue_message', id: 'm', role: 'system' },
    { kind: 'queue_message', id: 'everthread:x', role: 'user' },
    { kind: 'queue_tool', id: 't', name: '' },
    { kind: 'schedule_effect', id: 'e', dueAt: Infinity },
    { kind: 'remove_effect' },
    { kind: 'remove_queued', id: 'm'.repeat(97) },
  ].map((operation) => ({ input: { operations: [...GOOD, operation] } })),
  { input: { operations: Array.from({ length: LIMITS.outboundSignals + 1 }, () => ({ kind: 'set_env' })) } },
])('T10 $input is refused as a whole', ({ input }) => {
  expect(operationsProblem(input)).toContain('Expected { operations }')
})
