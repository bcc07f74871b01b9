import { describe, expect, test } from 'vitest'
import { NOW, run, step } from '../../test/support/control-states.js'
import {
  awaitAnswer,
  changeStepOf,
  endRun,
  forgetCall,
  isEnding,
  isReported,
  isResumed,
  markReported,
  pauseRun,
  preempt,
  resumeRun,
  stepOf,
} from './run.js'
import type { CallRequest, Ending, ModelCall } from './run.js'

const CALL: ModelCall = { side: 'a', asked: true, toolFirst: false }
const ENDING: Ending = { reason: 'stopped', outcome: 'cancelled', sessionCall: null }
const REQUEST: CallRequest = {
  requestId: 'r',
  kind: 'call',
  status: 'waiting_input',
  next: 'complete',
  requestedAt: NOW,
}

test('a message that preempts leaves what a stop has said of the children', () => {
  expect(preempt(run())).toMatchObject({ stop: 'run_and_children', preempted: true })
  expect(preempt({ ...run(), stop: 'run' })).toMatchObject({ stop: 'run', preempted: true })
  const ended = endRun(run(), ENDING)
  expect(preempt(ended)).toBe(ended)
})

describe('a wait', () => {
  test('the same operation goes on after it, and until it has answered the run is resumed', () => {
    const waiting = pauseRun(run({ step: step() }), { until: NOW }, null)
    expect(waiting.phase).toMatchObject({ kind: 'waiting', until: NOW, work: { kind: 'stepping' } })
    expect(isResumed(waiting)).toBe(false)
    expect(resumeRun(waiting).phase).toMatchObject({ kind: 'stepping', resumed: true })
  })

  test('a run that does not wait is not resumed', () => {
    const working = run({ step: step() })
    expect(resumeRun(working)).toBe(working)
  })

  test('a model call is made again as it was, until it is answered', () => {
    const again = resumeRun(pauseRun(run(), { until: NOW }, CALL))
    expect(again.phase).toEqual({ kind: 'between_steps', call: CALL, resumed: true })
    expect(forgetCall(again).phase).toEqual({ kind: 'between_steps', call: null, resumed: true })
  })
})

describe('a run that ends', () => {
  const ending = endRun(run({ step: step() }), ENDING)

  test('keeps its step, for its settle closes it', () => {
    expect(stepOf(ending)).toEqual(step())
    const changed = changeStepOf(ending, (one) => ({ ...one, phase: 6 }))
    expect(stepOf(changed)?.phase).toBe(6)
    expect(changed.phase).toMatchObject({ kind: 'ending', ending: ENDING })
  })

  test('leaves that phase for no wait and no request', () => {
    expect(pauseRun(ending, { until: NOW }, null).phase.kind).toBe('ending')
    expect(awaitAnswer(ending, CALL, REQUEST).phase).toMatchObject({
      kind: 'ending',
      work: { kind: 'between_steps', call: CALL },
    })
    expect(awaitAnswer(run(), CALL, REQUEST).phase).toMatchObject({ kind: 'pending', request: REQUEST })
  })

  test('T7 its report is made once, also where its ending changes', () => {
    expect(isReported(ending)).toBe(false)
    expect(isReported(endRun(markReported(ending), { ...ENDING, reason: 'terminated' }))).toBe(true)
    const working = run()
    expect(markReported(working)).toBe(working)
  })

  test('a stop comes before the phase: its settle is next', () => {
    expect(isEnding(ending)).toBe(true)
    expect(isEnding(run({ step: step(), stop: 'run' }))).toBe(true)
    expect(isEnding(pauseRun(run(), { until: NOW }, CALL))).toBe(false)
  })
})
