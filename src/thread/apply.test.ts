import { describe, expect, test } from 'vitest'
import {
  NOW,
  USAGE,
  answered,
  asked,
  dualPlan,
  endOf,
  idleControl,
  message,
  plan,
  resultOf,
  run,
  runOf,
  started,
  step,
  withCalls,
} from '../../test/support/control-states.js'
import type { CallModelAnswer } from '../protocol/activities.js'
import { applyActivityFailure, applyEnd, applyTermination } from './apply.js'
import { applyCallResult } from './call-answers.js'
import type { ThreadControl } from './control.js'
import { applyModelAnswer } from './model-answers.js'
import { beginStep, leaveStep, stepOf } from './run.js'

type Answer = Exclude<CallModelAnswer, { readonly type: 'terminated' }>

function modelAnswer(answer: Answer, control: ThreadControl = started()): ThreadControl {
  return applyModelAnswer(control, { ...asked(), drain: control.queue }, answer, NOW)
}

describe('the answer of a model', () => {
  test('T7 a child whose message was refused ends, and reports', () => {
    const child = started(idleControl({ resumable: false, parent: { threadId: 'p', callId: 'c' } }))
    const ended = modelAnswer({ type: 'nothing_to_do' }, child)
    expect(endOf(ended)).toMatchObject({ reason: 'hook_blocked', outcome: 'failed' })
  })

  test('a tool that is queued as the run ends runs no more', () => {
    const operations = [{ kind: 'queue_tool', id: 'q', name: 'work' }] as const
    const ended = modelAnswer({ type: 'end', reason: 'hook_blocked', outcome: 'failed', operations })
    expect(ended.queue).toEqual([])
  })

  test('an answer makes a step with its calls open', () => {
    const control = answered(started(), { text: true, calls: [{ id: 'c0', name: 'work' }] })
    expect(control).toMatchObject({
      queue: [],
      registered: true,
      progressed: true,
      plan: { digest: 'plan-1' },
      run: {
        planning: 'known',
        steps: 1,
        sideSteps: { a: 1, b: 0 },
        phase: {
          step: { number: 1, side: 'a', text: true, phase: 4, calls: [{ id: 'c0', state: 'open' }] },
        },
      },
    })
  })

  test('tokens and cost are summed over the run', () => {
    const first = answered(started())
    const second = answered({ ...first, run: leaveStep(runOf(first)) })
    expect(second.run?.usage).toEqual({ inputTokens: 20, outputTokens: 10, cachedInputTokens: 4, cost: 14 })
  })

  test('one unknown price makes the cost unknown', () => {
    const usage = { ...USAGE, cost: null }
    const control = modelAnswer({ type: 'answered', text: true, calls: [], usage, plan: plan() })
    expect(control.run?.usage.cost).toBeNull()
  })

  test('a plan that did not come back is the known one', () => {
    const known = { ...started(), plan: plan() }
    const control = modelAnswer({ type: 'answered', text: true, calls: [], usage: USAGE }, known)
    expect(control.plan?.digest).toBe('plan-1')
  })

  test('T3 items that came during the call still wait', () => {
    const control = started()
    const later = { ...control, queue: [...control.queue, message('m2')] }
    const next = applyModelAnswer(
      later,
      { ...asked(), drain: control.queue },
      { type: 'nothing_to_do', plan: plan() },
      NOW,
    )
    expect(next.queue).toEqual([message('m2')])
  })

  test('nothing to do ends the run without a trace', () => {
    expect(modelAnswer({ type: 'nothing_to_do', plan: plan() })).toMatchObject({
      run: null,
      runs: 1,
      lastRun: null,
    })
  })

  test('an interrupted answer asks for the end of the run', () => {
    expect(modelAnswer({ type: 'interrupted', plan: plan() }).run).toMatchObject({
      planning: 'known',
      stop: 'run',
      phase: { kind: 'between_steps' },
    })
  })

  test('an activity may end the run', () => {
    const end = { type: 'end', reason: 'model_failed', outcome: 'failed', usage: USAGE } as const
    expect(modelAnswer(end)).toMatchObject({
      queue: [],
      run: {
        usage: USAGE,
        phase: { ending: { reason: 'model_failed', outcome: 'failed', sessionCall: null } },
      },
    })
  })

  test('side b is what two agents have only', () => {
    const assistant = { ...started(), queue: [message('m1', 'assistant')] }
    const usage = USAGE
    const human = applyModelAnswer(
      assistant,
      { ...asked('b'), drain: assistant.queue },
      { type: 'answered', text: true, calls: [], usage, plan: plan() },
      NOW,
    )
    expect(human.run).toMatchObject({ side: 'a', sideSteps: { a: 1, b: 0 }, phase: { step: { side: 'a' } } })
    const dual = applyModelAnswer(
      assistant,
      { ...asked('b'), drain: assistant.queue },
      { type: 'answered', text: true, calls: [], usage, plan: dualPlan({}, {}) },
      NOW,
    )
    expect(dual.run).toMatchObject({ side: 'b', sideSteps: { a: 0, b: 1 }, phase: { step: { side: 'b' } } })
  })

  test('an answer without a run changes nothing', () => {
    const idle = idleControl()
    expect(modelAnswer({ type: 'interrupted' }, idle)).toBe(idle)
  })
})

describe('the result of a call', () => {
  test('T1 a result closes its own call only', () => {
    const control = applyCallResult(withCalls('work', 'work'), 'c0', resultOf('failed'), NOW)
    expect(stepOf(control.run)).toMatchObject({
      phase: 5,
      calls: [
        { id: 'c0', state: 'done', outcome: 'failed' },
        { id: 'c1', state: 'open' },
      ],
    })
  })

  test('the last result ends phase 6', () => {
    expect(stepOf(applyCallResult(withCalls('work'), 'c0', resultOf(), NOW).run)?.phase).toBe(6)
  })

  test('T9 messages that the call queued wait in order', () => {
    const operations = [
      { kind: 'queue_message', id: 'q1', role: 'user' },
      { kind: 'queue_message', id: 'q2', role: 'assistant' },
    ] as const
    const control = applyCallResult(withCalls('work'), 'c0', resultOf('succeeded', { operations }), NOW)
    expect(control.queue).toMatchObject([
      { id: 'q1', role: 'user' },
      { id: 'q2', role: 'assistant' },
    ])
  })

  test('a message of a tool does not clear the stop flag', () => {
    const stopped = { ...withCalls('work'), stopped: true }
    const result = resultOf('succeeded', { operations: [{ kind: 'queue_message', id: 'q1', role: 'user' }] })
    expect(applyCallResult(stopped, 'c0', result, NOW).stopped).toBe(true)
  })

  test('a call may ask for the end of its thread', () => {
    expect(
      applyCallResult(
        withCalls('work'),
        'c0',
        resultOf('succeeded', { operations: [{ kind: 'terminate' }] }),
        NOW,
      ).terminating,
    ).toBe(true)
  })

  test('equal errors in a row are counted', () => {
    const fail = (control: ThreadControl, digest: string): ThreadControl =>
      applyCallResult(
        {
          ...control,
          run: beginStep(runOf(control), step({ calls: [{ id: 'c', name: 'work', state: 'open' }] })),
        },
        'c',
        resultOf('failed', { errorDigest: digest }),
        NOW,
      )
    const twice = fail(fail(withCalls('work'), 'x'), 'x')
    expect(twice.run?.repeatedError).toEqual({ digest: 'x', count: 2 })
    expect(fail(twice, 'y').run?.repeatedError).toEqual({ digest: 'y', count: 1 })
  })

  test('a success ends the row of errors', () => {
    const failing = idleControl(
      {},
      {
        run: run({
          step: step({ calls: [{ id: 'c', name: 'work', state: 'open' }] }),
          repeatedError: { digest: 'x', count: 7 },
        }),
      },
    )
    expect(applyCallResult(failing, 'c', resultOf(), NOW).run?.repeatedError).toBeNull()
  })
})

test('an activity without an answer blocks the run, and why is known', () => {
  expect(endOf(applyActivityFailure(started(), 'timed_out'))).toEqual({
    reason: 'blocked',
    outcome: 'blocked',
    sessionCall: null,
    failure: 'timed_out',
  })
})

test('an end without a run changes nothing', () => {
  const idle = idleControl()
  expect(applyEnd(idle, { type: 'end', reason: 'blocked', outcome: 'blocked' }, NOW)).toBe(idle)
})

test('T8 a terminated row ends the thread', () => {
  expect(applyTermination(started()).terminating).toBe(true)
})
