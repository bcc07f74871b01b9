import { openChildOf } from '../../test/support/child-states.js'
import { describe, expect, test } from 'vitest'
import {
  NOW,
  idleControl,
  message,
  plan,
  resultOf,
  run,
  withCalls,
} from '../../test/support/control-states.js'
import { applyCallResult } from './call-answers.js'
import { changeCall } from './calls.js'
import { acceptReport } from './children.js'
import type { OpenChild, ThreadControl } from './control.js'
import { acceptMessage } from './inbox.js'
import { endRun, stepOf } from './run.js'
import type { ChildWait, Ending } from './run.js'
import { removeFromCascade, applySettle, interruptStep } from './settling.js'

const STOPPED: Ending = { reason: 'stopped', outcome: 'cancelled', sessionCall: null }
const CLOSE = { outcome: 'failed', reason: 'max_steps' } as const
const owed = (reference: string): OpenChild => openChildOf(reference)

const STARTING = { kind: 'starting', wordless: false } as const

describe('a step that was cut', () => {
  const listFacts = (control: ThreadControl): readonly unknown[] =>
    control.facts.map(({ type, payload }) => ('phase' in payload ? payload.phase : type))

  test.each([
    ['before its calls', withCalls('work', 'work'), [5, 6, 7, 'step.completed', 'side.completed']],
    [
      'between its calls',
      applyCallResult(withCalls('work', 'work'), 'c0', resultOf(), NOW),
      [6, 7, 'step.completed', 'side.completed'],
    ],
    [
      'after its calls',
      applyCallResult(withCalls('work'), 'c0', resultOf(), NOW),
      [7, 'step.completed', 'side.completed'],
    ],
  ])('%s still gets all its phases', (_when, control, expected) => {
    const cut = interruptStep(control, STOPPED, NOW)
    expect(listFacts(cut)).toEqual(expected)
    expect(stepOf(cut.run)?.calls).toEqual([])
  })

  test('a turn that is cut between two steps is told', () => {
    expect(listFacts(interruptStep(idleControl({}, { run: run() }), STOPPED, NOW))).toEqual([
      'side.completed',
    ])
  })

  test('a turn whose first model call waits has begun', () => {
    const again = { side: 'b', asked: false, toolFirst: false } as const
    const waiting = run({ turn: STARTING, waitUntil: NOW, call: again })
    const cut = interruptStep(idleControl({}, { run: waiting }), STOPPED, NOW)
    expect(cut.facts).toMatchObject([{ type: 'side.completed', payload: { side: 'b', reason: 'stopped' } }])
    // Its agent has one side, which the wait has told.
    const single = interruptStep(idleControl({}, { run: waiting, plan: plan() }), STOPPED, NOW)
    expect(single.facts).toMatchObject([{ type: 'side.completed', payload: { side: 'a' } }])
    const failed = endRun(waiting, STOPPED)
    expect(listFacts(interruptStep(idleControl({}, { run: failed }), STOPPED, NOW))).toEqual([
      'side.completed',
    ])
    const begun = run({ waitUntil: NOW, call: again })
    expect(listFacts(interruptStep(idleControl({}, { run: begun }), STOPPED, NOW))).toEqual([
      'side.completed',
    ])
  })

  test('a turn that has not begun has nothing to tell', () => {
    const control = idleControl({}, { run: run({ turn: STARTING }) })
    expect(interruptStep(control, STOPPED, NOW)).toBe(control)
    expect(interruptStep(idleControl(), null, NOW)).toEqual(idleControl())
  })

  test('T7 a report for a cut call is an ordinary item', () => {
    const waiting = { ...interruptStep(withCalls('ask'), STOPPED, NOW), children: [owed('k')] }
    const report = {
      reference: 'k',
      report: 1,
      invocations: ['c0'],
      kind: 'failure',
      messageId: 'k:report:1',
    }
    expect(acceptReport(waiting, report, NOW).queue).toMatchObject([{ kind: 'report' }])
  })

  test.each([
    { came: 'a report', report: { kind: 'result', messageId: 'r' }, item: { kind: 'report', id: 'r' } },
    {
      came: 'a close',
      report: { kind: 'closed', status: 'terminated' },
      item: { kind: 'child_closed', reference: 'k', status: 'terminated' },
    },
  ] as const)('T7 $came that a cut call did not take is an item', ({ report, item }) => {
    const wait: ChildWait = {
      references: ['k', 'l'],
      blocking: true,
      group: false,
      deadline: null,
      timeout: null,
      reports: [{ reference: 'k', report }],
      stopped: [],
    }
    for (const state of ['waiting', 'reported'] as const) {
      const control = changeCall(withCalls('ask'), 'c0', ({ id, name }) => ({ id, name, state, wait }))
      const stopped = { ...control, stopped: true }
      expect(interruptStep(stopped, STOPPED, NOW)).toMatchObject({ stopped: true, queue: [item] })
    }
  })
})

describe('the end of a run', () => {
  const running = idleControl({}, { run: run({ steps: 3 }), runs: 1, queue: [message('b')] })

  test('the run becomes the last one', () => {
    expect(applySettle(running, { ending: STOPPED, close: null, queued: 1 }, NOW + 5)).toMatchObject({
      run: null,
      lastRun: { runId: 'run_1', reason: 'stopped', steps: 3, endedAt: NOW + 5 },
      settles: 1,
      registered: true,
      closing: null,
    })
  })

  test('T3 what waits outlives the run', () => {
    expect(applySettle(running, { ending: STOPPED, close: null, queued: 1 }, NOW).queue).toEqual([
      message('b'),
    ])
  })
})

describe('the end of a thread', () => {
  const ending = idleControl({}, { run: run(), queue: [message('b')], queueBytes: 9, children: [owed('k')] })

  test('T8 the queue is dropped and owed children are to be told', () => {
    expect(applySettle(ending, { ending: STOPPED, close: CLOSE, queued: 1 }, NOW)).toMatchObject({
      queue: [],
      queueBytes: 0,
      closing: { ...CLOSE, cascade: ['k'], settled: true },
    })
  })

  test('T7 what a rejected message answered for is not forgotten', () => {
    const queue = [{ ...message('b'), invocation: 'pc' } as const]
    expect(
      applySettle({ ...ending, queue }, { ending: STOPPED, close: CLOSE, queued: 1 }, NOW).invocations,
    ).toEqual(['pc'])
  })

  test('T8 what came during the closing transaction needs another', () => {
    const late = acceptMessage(ending, { messageId: 'c' }, NOW)
    expect(applySettle(late, { ending: STOPPED, close: CLOSE, queued: 1 }, NOW).closing?.settled).toBe(false)
  })

  test('T8 a second closing transaction tells no child twice', () => {
    const closing = { ...CLOSE, cascade: [], settled: false }
    const again = applySettle({ ...ending, closing }, { ending: null, close: CLOSE, queued: 1 }, NOW)
    expect(again.closing).toEqual({ ...CLOSE, cascade: [], settled: true })
    expect(again.lastRun).toBeNull()
  })

  test('a child that was told leaves the cascade', () => {
    const closing = { ...CLOSE, cascade: ['k', 'l'], settled: true }
    expect(removeFromCascade(idleControl({}, { closing }), 'k').closing?.cascade).toEqual(['l'])
    expect(removeFromCascade(idleControl(), 'k').closing).toBeNull()
  })
})
