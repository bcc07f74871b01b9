import { describe, expect, test } from 'vitest'
import { withPrepared, withStarted } from '../../test/support/child-states.js'
import {
  NOW,
  dualPlan,
  idleControl,
  message,
  plan,
  run,
  started,
  step,
  withCalls,
} from '../../test/support/control-states.js'
import { changeCall } from './calls.js'
import { applyChildClose } from './children.js'
import type { ThreadControl } from './control.js'
import { acceptStop } from './inbox.js'
import { nextAction, workAction } from './next-action.js'
import { endingOf, pauseRun } from './run.js'
import type { Ending } from './run.js'
import { applySettle } from './settling.js'

const ENDED: Ending = { reason: 'session_stop', outcome: 'completed', sessionCall: 'c0' }

const prepared = withPrepared()
const waiting = withStarted()

const kind = (control: ThreadControl): string => nextAction(control).kind

describe('a run', () => {
  test('an idle thread waits', () => {
    expect(kind(idleControl())).toBe('wait')
  })

  test('a run begins with a model call that drains the queue', () => {
    expect(nextAction(started())).toMatchObject({ kind: 'callModel', side: 'a', drain: [message('m1')] })
  })

  test('SA-R-05.1 calls run one by one in their order', () => {
    const control = withCalls('work', 'work')
    expect(nextAction(control)).toMatchObject({ kind: 'executeTool', call: { id: 'c0' } })
    const done = changeCall(control, 'c0', ({ id, name }) => ({ id, name, state: 'done', outcome: 'failed' }))
    expect(nextAction(done)).toMatchObject({ kind: 'executeTool', call: { id: 'c1' } })
  })

  test.each([
    ['work', 'executeTool'],
    ['ask', 'prepareChild'],
    ['create', 'prepareChild'],
    ['write', 'prepareMessage'],
    ['nobody', 'executeTool'],
    ['constructor', 'executeTool'],
  ])('a call of %s is carried out by %s', (name, expected) => {
    expect(kind(withCalls(name))).toBe(expected)
  })

  test('a run that waits still shows the call that it waits to make', () => {
    const running = run({ step: step({ calls: [{ id: 'c0', name: 'work', state: 'open' }] }) })
    const waiting = pauseRun(running, { until: NOW + 1000 }, null)
    const control = idleControl({}, { plan: plan(), run: waiting })
    expect(kind(control)).toBe('waitUntil')
    expect(workAction(control, waiting)).toMatchObject({ kind: 'executeTool', call: { id: 'c0' } })
  })

  test('a run that ended is settled', () => {
    const control = idleControl({}, { run: run({ ending: ENDED }), runs: 1 })
    expect(nextAction(control)).toEqual({ kind: 'settle', ending: ENDED, close: null })
  })

  test('an interrupted run is settled without its open calls', () => {
    expect(nextAction(acceptStop(withCalls('work'), undefined))).toMatchObject({
      kind: 'settle',
      ending: { reason: 'stopped', outcome: 'cancelled' },
    })
  })

  test('an ending that was there wins over a stop and a terminate', () => {
    const control = idleControl({}, { run: run({ ending: ENDED, stop: 'run' }), terminating: true })
    expect(endingOf(control)).toBe(ENDED)
  })

  test('a step without an open call is a bug', () => {
    expect(() => nextAction(idleControl({}, { plan: plan(), run: run({ step: step() }) }))).toThrow(
      'no open call',
    )
  })
})

describe('who acts', () => {
  const report = { kind: 'report', id: 'r', queuedAt: NOW } as const
  const more = { kind: 'continue', id: 'continue:1', queuedAt: NOW } as const
  const both = dualPlan({}, {})
  test.each([
    ['a message of a user', both, [message('m')], 'a'],
    ['a message of an assistant', both, [message('m', 'assistant')], 'b'],
    ['the first of several', both, [message('m', 'assistant'), message('n')], 'b'],
    ['a report', both, [report], 'a'],
    ['nothing that waits', both, [], 'b'],
    ['a continue', both, [more], 'b'],
    ['an assistant message to an agent with a person', plan(), [message('m', 'assistant')], 'a'],
  ] as const)('%s', (_what, given, queue, side) => {
    const control = idleControl({}, { plan: given, run: run({ side: 'b' }), queue })
    expect(nextAction(control)).toMatchObject({ kind: 'callModel', side })
  })
})

describe('a subagent', () => {
  test('T7 a child whose rows exist is always started', () => {
    expect(kind(prepared)).toBe('startChildren')
    expect(kind({ ...prepared, terminating: true })).toBe('startChildren')
    expect(kind(acceptStop(prepared, undefined))).toBe('startChildren')
  })

  test('a call waits for its child', () => {
    expect(kind(waiting)).toBe('awaitChildren')
  })

  test('a reported call is completed', () => {
    const closed = applyChildClose(waiting, { reference: 'k', status: 'failed' }, NOW)
    expect(nextAction(closed)).toMatchObject({
      kind: 'completeCall',
      by: { kind: 'children', reports: [{ reference: 'k', report: { kind: 'closed' } }] },
    })
  })
})

describe('the end of a thread', () => {
  const close = { outcome: 'completed', reason: 'session_stop' } as const

  test('T8 terminate comes before every other work', () => {
    for (const control of [started(), withCalls('work'), waiting, idleControl({}, { queue: [message('m')] })])
      expect(nextAction({ ...control, terminating: true })).toMatchObject({
        kind: 'settle',
        close: { outcome: 'terminated', reason: 'terminated' },
      })
  })

  test('a resumable thread outlives its run', () => {
    expect(nextAction(idleControl({}, { run: run({ ending: ENDED }) }))).toMatchObject({ close: null })
  })

  test.each([
    [ENDED, 'completed'],
    [{ reason: 'session_fail', outcome: 'failed', sessionCall: 'c0' } as const, 'failed'],
    [{ reason: 'stopped', outcome: 'cancelled', sessionCall: null } as const, 'failed'],
    [{ reason: 'blocked', outcome: 'blocked', sessionCall: null } as const, 'failed'],
  ])('a thread that is not resumable closes: %j', (ending, outcome) => {
    const control = idleControl({ resumable: false }, { run: run({ ending }) })
    expect(nextAction(control)).toEqual({ kind: 'settle', ending, close: { outcome, reason: ending.reason } })
  })

  test('T8 every owed child is told before the thread closes', () => {
    const control = applySettle(waiting, { ending: ENDED, close, queued: 0 }, NOW)
    expect(nextAction(control)).toEqual({ kind: 'cancelChild', reference: 'k' })
  })

  test('T8 what came after the closing transaction needs another', () => {
    const closing = { ...close, cascade: [], settled: false }
    expect(nextAction(idleControl({}, { closing }))).toMatchObject({ kind: 'settle', close })
  })
})
