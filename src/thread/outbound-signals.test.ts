import { expect, test } from 'vitest'
import { idleControl, NOW, run, withCalls } from '../../test/support/control-states.js'
import { LIMITS } from '../protocol/limits.js'
import { operationsProblem, queueMessageProblem, queueToolProblem } from '../protocol/message-problems.js'
import type { ThreadOperation, OutboundOperation } from '../protocol/operations.js'
import { shouldContinueAsNew } from './continue-as-new.js'
import { nextAction } from './next-action.js'
import { applyOperations, removeOutbound, createOutboundMessage } from './operations.js'

const tell = (id: string): Extract<ThreadOperation, { readonly kind: 'signal_thread' }> => ({
  kind: 'signal_thread',
  to: 'p',
  operation: { kind: 'queue_message', id, role: 'user' },
})
const ENDING = { reason: 'session_stop', outcome: 'completed', sessionCall: 'c0' } as const
const parent = { parent: { threadId: 'p', callId: 'pc' } }

test('T3 other threads are told in order, each once', () => {
  const control = applyOperations(idleControl(), [tell('a'), tell('b')], NOW)
  expect(nextAction(control)).toEqual({
    kind: 'sendOutbound',
    signal: { to: 'p', operation: tell('a').operation },
  })
  const next = removeOutbound(control)
  expect(nextAction(next)).toMatchObject({ signal: { operation: { id: 'b' } } })
  expect(nextAction(removeOutbound(next))).toEqual({ kind: 'wait' })
})

test.each([
  ['a call', withCalls('work')],
  ['the report of a run', idleControl(parent, { run: run({ ending: ENDING }) })],
  ['the last report', idleControl(parent, { terminating: true })],
  ['the end of a thread', idleControl({}, { terminating: true })],
  ['an effect', idleControl({}, { queue: [{ kind: 'effect', id: 'e', queuedAt: NOW }] })],
])('T7 they are told before %s', (_what, control) => {
  expect(nextAction(applyOperations(control, [tell('a')], NOW)).kind).toBe('sendOutbound')
})

test('beyond the bound they are refused, visibly', () => {
  const many = Array.from({ length: LIMITS.outboundSignals + 2 }, (_, index) => tell(`m${index}`))
  const control = applyOperations(idleControl(), many, NOW)
  expect(control.outbound).toHaveLength(LIMITS.outboundSignals)
  expect(control.facts.map(({ payload }) => ('code' in payload ? payload.code : undefined))).toEqual([
    'outbound_full',
    'outbound_full',
  ])
})

test('none of them has to be carried', () => {
  const waiting = applyOperations(idleControl(), [tell('a')], NOW)
  const size = { events: 9999, bytes: 9_999_999 }
  const history = { ...size, atLastAction: size, began: 0, signals: 9999, suggested: true }
  expect(shouldContinueAsNew(waiting, history)).toBe(false)
  expect(shouldContinueAsNew(removeOutbound(waiting), history)).toBe(true)
})

const CHECKS = {
  queueMessage: queueMessageProblem,
  queueTool: queueToolProblem,
  operations: operationsProblem,
}

test.each<readonly [OutboundOperation, unknown]>([
  [
    { kind: 'queue_message', id: 'm', role: 'assistant' },
    { messageId: 'm', role: 'assistant', from: 'child' },
  ],
  [
    { kind: 'queue_tool', id: 't', name: 'work' },
    { toolCallId: 't', name: 'work' },
  ],
  [{ kind: 'set_env' }, { operations: [{ kind: 'set_env' }] }],
  [{ kind: 'remove_effect', id: 'e' }, { operations: [{ kind: 'remove_effect', id: 'e' }] }],
  [
    { kind: 'schedule_effect', id: 'e', dueAt: NOW },
    { operations: [{ kind: 'schedule_effect', id: 'e', dueAt: NOW }] },
  ],
  [{ kind: 'remove_queued', id: 'm' }, { operations: [{ kind: 'remove_queued', id: 'm' }] }],
])('%j is sent as its receiver takes it', (operation, input) => {
  const message = createOutboundMessage(idleControl(parent), { to: 'p', operation })
  expect(message).toMatchObject({ input })
  expect(message.signal === null ? null : CHECKS[message.signal](message.input)).toBeUndefined()
})

test('a message to a child is no invocation, and terminate is a cancellation', () => {
  const told = createOutboundMessage(idleControl(parent), { to: 'k', operation: tell('a').operation })
  expect(told).toEqual({ signal: 'queueMessage', input: { messageId: 'a', role: 'user', from: 'parent' } })
  expect(createOutboundMessage(idleControl(), { to: 'k', operation: { kind: 'terminate' } })).toEqual({
    signal: null,
  })
})
