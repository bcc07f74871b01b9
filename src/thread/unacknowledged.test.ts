import { describe, expect, test } from 'vitest'
import { preparedChild } from '../../test/support/child-states.js'
import { idleControl, NOW, withCalls } from '../../test/support/control-states.js'
import { markUnacknowledged, applyUnacknowledged, listOperations } from './apply.js'
import { carry, restore } from './continue-as-new.js'
import { applySettle } from './settling.js'

const ENDING = { reason: 'stopped', outcome: 'cancelled', sessionCall: null } as const
const MESSAGE = { kind: 'queue_message', id: 'm', role: 'user' } as const
const TELL = { kind: 'signal_thread', to: 'other', operation: MESSAGE } as const

describe('an activity that left no answer', () => {
  test.each([
    ['callModel', { run: 2, step: 3 }, ['model_2_3']],
    ['callModel', { run: 2, step: 3, frame: { callId: 'c', prompt: 'p', depth: 1 } }, ['c', 'model_2_3_c']],
    ['callModel', { run: 2, step: 3, toolFirst: true }, ['begin_2']],
    ['callModel', { run: 2, step: 3, activated: false }, ['activation_2_3', 'model_2_3']],
    ['callModel', { run: 2, step: 3, activated: false, activations: 1 }, ['activation_2_3n1', 'model_2_3']],
    ['executeTool', { run: 2, step: 3, callId: 'c' }, ['c']],
    ['completeCall', { run: 2, step: 3, callId: 'c' }, ['c_result']],
    ['deliverReport', { run: 2 }, []],
  ])('%s may have finished what its input names', (name, input, expected) => {
    expect(listOperations(name, input)).toEqual(expected)
  })

  test('its operations are known over continue-as-new', () => {
    const missed = markUnacknowledged(withCalls('work'), ['c0'])
    expect(restore(carry(missed), missed.start).run?.unacknowledged).toEqual(['c0'])
    expect(applySettle(missed, { ending: ENDING, close: null, queued: 0 }, NOW).run).toBeNull()
  })
})

describe('what was committed without being heard', () => {
  test('T9 it happens when the run is settled', () => {
    const told = applyUnacknowledged(
      idleControl(),
      { unacknowledged: ['c0'], operations: [MESSAGE, TELL] },
      NOW,
    )
    expect(told.queue).toMatchObject([{ kind: 'message', id: 'm' }])
    expect(told.outbound).toEqual([{ to: 'other', operation: MESSAGE }])
  })

  test('T7 a child that waits for variables belongs to its call', () => {
    const deferred = {
      kind: 'defer_child',
      requestId: 'e',
      child: preparedChild('k'),
      expiresAt: NOW + 1,
    } as const
    const told = applyUnacknowledged(idleControl(), { unacknowledged: ['c0'], operations: [deferred] }, NOW)
    expect(told.children).toMatchObject([{ state: 'deferred', requestId: 'e', callId: 'c0' }])
  })

  test('T8 a thread that closes tells others, and does nothing more', () => {
    const closing = { outcome: 'terminated', reason: 'terminated', cascade: [], settled: true } as const
    const told = applyUnacknowledged(idleControl({}, { closing }), { operations: [MESSAGE, TELL] }, NOW)
    expect(told).toMatchObject({ queue: [], outbound: [{ to: 'other' }] })
  })
})
