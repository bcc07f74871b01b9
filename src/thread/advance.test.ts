import { describe, expect, test } from 'vitest'
import {
  NOW,
  answered,
  dualPlan,
  endOf,
  idleControl,
  message,
  plan,
  resultOf,
  run,
  runOf,
  started,
  withCalls,
} from '../../test/support/control-states.js'
import { advance, planOf } from './advance.js'
import { applyCallResult } from './call-answers.js'
import type { ThreadControl } from './control.js'
import { acceptStop } from './inbox.js'

const phases = (control: ThreadControl): readonly unknown[] =>
  control.facts.flatMap(({ type, payload }) => (type === 'step.phase' ? [payload?.['phase']] : []))

describe('the start of a run', () => {
  test('SA-R-02.6 an item starts a run on an idle thread', () => {
    expect(started()).toMatchObject({
      runs: 1,
      run: {
        number: 1,
        side: 'a',
        trigger: 'message',
        steps: 0,
        turn: { kind: 'starting' },
        phase: { kind: 'between_steps' },
      },
    })
  })

  test('an idle thread without items stays as it is', () => {
    const idle = idleControl()
    expect(advance(idle)).toBe(idle)
  })

  test('T7 a stop before its first run ends a thread that cannot be parked', () => {
    const child = idleControl({ resumable: false }, { stopped: true, queue: [message('b')] })
    expect(advance(child)).toMatchObject({ run: { stop: 'run' } })
    const root = idleControl({}, { stopped: true, queue: [message('b')] })
    expect(advance(root)).toBe(root)
  })

  test('T1 an item that waits starts no second run', () => {
    const running = idleControl({}, { run: run(), runs: 1, queue: [message('b')] })
    expect(advance(running)).toBe(running)
  })

  test('a stopped thread lets its items wait', () => {
    const stopped = idleControl({}, { stopped: true, queue: [message('a')] })
    expect(advance(stopped)).toBe(stopped)
  })

  test.each([
    [{ terminating: true }],
    [{ closing: { outcome: 'failed', reason: 'max_steps', cascade: [], settled: true } as const }],
  ])('T8 no run starts with %j', (patch) => {
    const control = idleControl({}, { ...patch, queue: [message('a')] })
    expect(advance(control)).toBe(control)
  })

  test.each([
    [message('a'), 'message'],
    [{ kind: 'report', id: 'r', queuedAt: NOW } as const, 'report'],
    [{ kind: 'child_closed', id: 'r', reference: 'r', status: 'failed', queuedAt: NOW } as const, 'report'],
    [{ kind: 'continue', id: 'continue:1', queuedAt: NOW } as const, 'continue'],
  ])('%j gives the trigger %s', (entry, trigger) => {
    expect(advance(idleControl({}, { queue: [entry] })).run?.trigger).toBe(trigger)
  })

  test('each run has counters of its own', () => {
    const second = advance(idleControl({}, { runs: 4, queue: [message('a')] }))
    expect(second.run).toMatchObject({ number: 5, steps: 0, sessionTurns: 0, repeatedError: null })
  })
})

describe('phase 7', () => {
  test('a step without calls is judged at once', () => {
    const control = advance(answered(started(), { text: true }))
    expect(control.run).toMatchObject({
      sessionTurns: 1,
      phase: {
        kind: 'ending',
        ending: { reason: 'stop_on_response', outcome: 'completed', sessionCall: null },
        work: { kind: 'between_steps' },
      },
    })
  })

  test('a step is judged when its last call is done', () => {
    const one = applyCallResult(withCalls('work', 'work'), 'c0', resultOf(), NOW)
    expect(advance(one)).toBe(one)
    const both = advance(applyCallResult(one, 'c1', resultOf(), NOW))
    expect(both.run).toMatchObject({ phase: { kind: 'between_steps' }, turn: { kind: 'under_way' } })
  })

  test.each([
    ['a text', answered(started(), { text: true }), [5, 6, 7]],
    ['a call', applyCallResult(withCalls('work'), 'c0', resultOf(), NOW), [7]],
  ])('after %s the phases that no activity marked follow', (_what, control, expected) => {
    expect(phases(advance(control))).toEqual(expected)
  })

  test('a step that ends a turn tells both', () => {
    const { facts } = advance(answered(started(), { text: true }))
    const scope = { runId: 'run_1', stepId: 'step_1_1' }
    expect(facts.slice(-2)).toEqual([
      { type: 'step.completed', scope, payload: { step: 1, reason: 'stop_on_response' } },
      { type: 'side.completed', scope, payload: { side: 'a', reason: 'stop_on_response' } },
    ])
  })

  test('a step that goes on ends no turn', () => {
    const { facts } = advance(applyCallResult(withCalls('work'), 'c0', resultOf(), NOW))
    expect(facts.at(-1)).toMatchObject({ type: 'step.completed', payload: { step: 1, reason: null } })
  })

  test('an interrupted step is not judged', () => {
    const stopped = acceptStop(answered(started(), { text: true }), undefined)
    expect(advance(stopped).facts).toEqual(stopped.facts)
    expect(advance(stopped).run?.phase).toMatchObject({
      kind: 'ending',
      isInterrupted: true,
      work: { kind: 'stepping' },
    })
  })

  test('a terminate counts more than the stop that it follows', () => {
    const stopped = advance(acceptStop(withCalls('work'), undefined))
    expect(endOf(stopped)).toMatchObject({ reason: 'stopped' })
    expect(endOf(advance({ ...stopped, terminating: true }))).toMatchObject({ reason: 'terminated' })
  })

  test('a failed ending is no completed run', () => {
    const control = advance(answered(started(), { calls: [], plan: plan({ maxSteps: 1 }) }))
    expect(endOf(control)).toMatchObject({ reason: 'max_steps', outcome: 'failed' })
  })
})

describe('two sides', () => {
  const finish = { stopTool: 'finish', stopOnResponse: false }
  const both = dualPlan(finish, finish)

  test('the other side starts a turn of its own', () => {
    const control = advance(answered(started(), { text: true, plan: dualPlan({}, {}) }))
    expect(control.run).toMatchObject({
      side: 'b',
      sessionTurns: 1,
      turn: { kind: 'starting', wordless: false },
    })
  })

  test('a turn without words is told to the other side', () => {
    const called = answered(started(), { calls: [{ id: 'c0', name: 'finish' }], plan: both })
    const control = advance(applyCallResult(called, 'c0', resultOf(), NOW))
    expect(control.run).toMatchObject({ side: 'b', turn: { wordless: true } })
  })

  test('words of an earlier step of the turn count', () => {
    const first = advance(answered(started(), { text: true, plan: both }))
    expect(runOf(first)).toMatchObject({ side: 'a', turn: { hasText: true } })
    const called = answered(first, { calls: [{ id: 'c0', name: 'finish' }], plan: both })
    expect(advance(applyCallResult(called, 'c0', resultOf(), NOW)).run).toMatchObject({
      side: 'b',
      turn: { wordless: false },
    })
  })

  test('the missing words are told once', () => {
    const wordless = idleControl(
      {},
      { plan: both, run: run({ side: 'b', turn: { kind: 'starting', wordless: true }, steps: 1 }), runs: 1 },
    )
    expect(advance(answered(wordless, { text: true, plan: both })).run?.turn).toEqual({
      kind: 'under_way',
      hasText: true,
    })
  })
})

test('a plan is there after the first model call', () => {
  expect(planOf(answered(started())).digest).toBe('plan-1')
  expect(() => planOf(idleControl())).toThrow('Thread t has no plan')
})
