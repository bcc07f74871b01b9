import { describe, expect, test } from 'vitest'
import { doneCall, dualPlan, plan, run, step } from '../../test/support/control-states.js'
import type { Plan } from '../protocol/plan.js'
import type { Run, Step } from './run.js'
import { evaluateStop } from './stop-conditions.js'

const LIFECYCLE = { stopTool: 'finish', sessionStop: 'close', sessionFail: 'give_up' }

/** What follows, in one word: the reason of an end, `switch <reason>`, or `go_on`. */
function verdict(given: Plan, stepGiven: Partial<Step>, runGiven: Partial<Run> = {}): string {
  const judged = evaluateStop(given, run(runGiven), step(stepGiven))
  if (judged.kind === 'go_on') return 'go_on'
  if (judged.kind === 'hand_off') return `hand off to ${judged.agent} ${judged.to}`
  return judged.kind === 'end' ? judged.reason : `switch ${judged.reason} to ${judged.to}`
}

interface Row {
  readonly fact: string
  readonly plan: Plan
  readonly step: Partial<Step>
  readonly run?: Partial<Run>
  readonly verdict: string
}

function table(rows: readonly Row[]): void {
  test.each(rows)('$fact', (row) => {
    expect(verdict(row.plan, row.step, row.run)).toBe(row.verdict)
  })
}

describe('session tools', () => {
  const [fail, stop, finish] = [doneCall('give_up'), doneCall('close'), doneCall('finish')]
  table([
    {
      fact: 'SA-R-06.1 a session stop wins over a stop tool',
      plan: plan(LIFECYCLE),
      step: { calls: [finish, stop], text: true },
      verdict: 'session_stop',
    },
    {
      fact: 'SA-R-06.1 a session fail wins over a session stop',
      plan: plan(LIFECYCLE),
      step: { calls: [stop, fail] },
      verdict: 'session_fail',
    },
    {
      fact: 'SA-R-06.1 a session tool wins over every cap',
      plan: plan({ ...LIFECYCLE, maxSteps: 1 }),
      step: { calls: [stop] },
      run: { repeatedError: { digest: 'd', count: 99 }, steps: 999 },
      verdict: 'session_stop',
    },
    {
      fact: 'a session tool that failed does not end the session',
      plan: plan(LIFECYCLE),
      step: { calls: [doneCall('close', 'failed')] },
      verdict: 'go_on',
    },
    {
      fact: 'a session tool of unknown outcome does not end the session',
      plan: plan(LIFECYCLE),
      step: { calls: [doneCall('close', 'unknown')] },
      verdict: 'go_on',
    },
    {
      fact: 'SA-A-05.1 the stop tool ends the turn beside a session tool that failed',
      plan: plan(LIFECYCLE),
      step: { calls: [doneCall('close', 'failed'), finish] },
      verdict: 'stop_tool',
    },
    {
      fact: 'a session stop that succeeds ends the session beside a session fail that failed',
      plan: plan(LIFECYCLE),
      step: { calls: [doneCall('give_up', 'failed'), stop] },
      verdict: 'session_stop',
    },
    {
      fact: 'a failed session tool still meets the caps',
      plan: plan({ ...LIFECYCLE, maxSteps: 1 }),
      step: { calls: [doneCall('close', 'failed')] },
      verdict: 'max_steps',
    },
    {
      fact: 'a session tool that succeeds at the second try ends it',
      plan: plan(LIFECYCLE),
      step: { calls: [doneCall('close', 'failed'), doneCall('close')] },
      verdict: 'session_stop',
    },
  ])

  test('the verdict of a session tool names its call', () => {
    const judged = evaluateStop(plan(LIFECYCLE), run(), step({ calls: [finish, stop] }))
    expect(judged).toEqual({ kind: 'end', reason: 'session_stop', sessionCall: stop.id })
  })
})

describe('the turn of an agent and a person', () => {
  const work = doneCall('work')
  table([
    {
      fact: 'SA-R-06.2 the stop tool is the reason, text or not',
      plan: plan(LIFECYCLE),
      step: { calls: [doneCall('finish')], text: true },
      verdict: 'stop_tool',
    },
    {
      fact: 'SA-R-06.3 a text alone ends the turn',
      plan: plan(),
      step: { text: true },
      verdict: 'stop_on_response',
    },
    {
      fact: 'SA-R-06.3 a text on the step of maxSteps is a response',
      plan: plan({ maxSteps: 3 }),
      step: { text: true },
      run: { sideSteps: { a: 3, b: 0 }, steps: 3 },
      verdict: 'stop_on_response',
    },
    {
      fact: 'a text beside calls does not end the turn',
      plan: plan(),
      step: { text: true, calls: [work] },
      verdict: 'go_on',
    },
    {
      fact: 'without stopOnResponse a text does not end the turn',
      plan: plan({ stopOnResponse: false }),
      step: { text: true },
      verdict: 'go_on',
    },
    { fact: 'a call alone does not end the turn', plan: plan(), step: { calls: [work] }, verdict: 'go_on' },
  ])
})

describe('two agents in turn', () => {
  const silent = { stopOnResponse: false }
  const work = doneCall('work')
  table([
    {
      fact: 'a text hands over to the other side',
      plan: dualPlan({}, {}),
      step: { text: true },
      verdict: 'switch stop_on_response to b',
    },
    {
      fact: 'side b hands over to side a',
      plan: dualPlan({}, {}),
      step: { side: 'b', text: true },
      run: { side: 'b' },
      verdict: 'switch stop_on_response to a',
    },
    {
      fact: 'with stopOnResponse a text beside calls keeps the side',
      plan: dualPlan({}, {}),
      step: { text: true, calls: [work] },
      verdict: 'go_on',
    },
    {
      fact: 'without both rules a text hands over',
      plan: dualPlan(silent, {}),
      step: { text: true },
      verdict: 'switch stop_on_response to b',
    },
    {
      fact: 'without both rules a text beside calls keeps the side',
      plan: dualPlan(silent, {}),
      step: { text: true, calls: [work] },
      verdict: 'go_on',
    },
    {
      fact: 'without both rules calls alone keep the side',
      plan: dualPlan(silent, {}),
      step: { calls: [work] },
      verdict: 'go_on',
    },
    {
      fact: 'with a stop tool only that tool hands over',
      plan: dualPlan({ ...silent, stopTool: 'finish' }, {}),
      step: { text: true },
      verdict: 'go_on',
    },
    {
      fact: 'the stop tool hands over',
      plan: dualPlan({ ...silent, stopTool: 'finish' }, {}),
      step: { calls: [doneCall('finish')] },
      verdict: 'switch stop_tool to b',
    },
  ])
})

describe('limits', () => {
  const work = doneCall('work')
  const repeated = { digest: 'd', count: 8 }
  table([
    {
      fact: 'SA-R-06.4 maxSteps ends the run on the exact step',
      plan: plan({ maxSteps: 3 }),
      step: { calls: [work] },
      run: { sideSteps: { a: 3, b: 0 }, steps: 3 },
      verdict: 'max_steps',
    },
    {
      fact: 'SA-R-06.4 one step before maxSteps the run goes on',
      plan: plan({ maxSteps: 3 }),
      step: { calls: [work] },
      run: { sideSteps: { a: 2, b: 0 }, steps: 2 },
      verdict: 'go_on',
    },
    {
      fact: 'maxSteps counts the steps of its own side only',
      plan: dualPlan({ maxSteps: 3 }, {}),
      step: { calls: [work] },
      run: { sideSteps: { a: 2, b: 40 }, steps: 42 },
      verdict: 'go_on',
    },
    {
      fact: 'maxSteps of the side that would act next ends the run',
      plan: dualPlan({}, { maxSteps: 2 }),
      step: { text: true },
      run: { sideSteps: { a: 3, b: 2 }, steps: 5 },
      verdict: 'max_steps',
    },
    {
      fact: 'SA-R-06.4 maxSessionTurns counts turns of both sides',
      plan: dualPlan({}, {}, { maxSessionTurns: 4 }),
      step: { text: true },
      run: { sessionTurns: 3 },
      verdict: 'max_session_turns',
    },
    {
      fact: 'one turn before maxSessionTurns the other side goes on',
      plan: dualPlan({}, {}, { maxSessionTurns: 4 }),
      step: { text: true },
      run: { sessionTurns: 2 },
      verdict: 'switch stop_on_response to b',
    },
    {
      fact: 'SA-R-06.4 a session without a cap of its own ends at ours',
      plan: dualPlan({}, {}),
      step: { text: true },
      run: { sessionTurns: 99 },
      verdict: 'hard_cap',
    },
    {
      fact: 'a session with a cap of its own may pass ours',
      plan: dualPlan({}, {}, { maxSessionTurns: 500 }),
      step: { text: true },
      run: { sessionTurns: 300 },
      verdict: 'switch stop_on_response to b',
    },
    {
      fact: 'turns are not counted against an agent with a person',
      plan: plan({}, { maxSessionTurns: 1 }),
      step: { text: true },
      run: { sessionTurns: 99 },
      verdict: 'stop_on_response',
    },
    {
      fact: 'SA-R-06.4 the hard cap of steps ends an endless run',
      plan: plan(),
      step: { calls: [work] },
      run: { steps: 250 },
      verdict: 'hard_cap',
    },
    {
      fact: 'one step before the hard cap the run goes on',
      plan: plan(),
      step: { calls: [work] },
      run: { steps: 249 },
      verdict: 'go_on',
    },
    {
      fact: 'the same error again and again ends the run',
      plan: plan(),
      step: { calls: [work] },
      run: { repeatedError: repeated },
      verdict: 'repeated_tool_error',
    },
    {
      fact: 'one error fewer does not end the run',
      plan: plan(),
      step: { calls: [work] },
      run: { repeatedError: { ...repeated, count: 7 } },
      verdict: 'go_on',
    },
    {
      fact: 'a response after repeated errors is a response',
      plan: plan(),
      step: { text: true },
      run: { repeatedError: repeated },
      verdict: 'stop_on_response',
    },
  ])
})

describe('a forced turn', () => {
  const work = doneCall('work')
  const both = dualPlan({}, { maxSteps: 3 })
  table([
    {
      fact: 'the other side is forced to act, which ends the turn',
      plan: both,
      step: { calls: [work], forcedTurn: 'b' },
      verdict: 'switch forced_turn to b',
    },
    {
      fact: 'the side itself goes on instead of ending its turn',
      plan: both,
      step: { text: true, forcedTurn: 'a' },
      verdict: 'go_on',
    },
    {
      fact: 'a turn with a person goes on when it is forced to',
      plan: plan(),
      step: { text: true, forcedTurn: 'a' },
      verdict: 'go_on',
    },
    {
      fact: 'a side that the agent does not have is not forced',
      plan: plan(),
      step: { text: true, forcedTurn: 'b' },
      verdict: 'stop_on_response',
    },
    {
      fact: 'a session end wins over a forced turn',
      plan: dualPlan(LIFECYCLE, {}),
      step: { calls: [doneCall('close')], forcedTurn: 'b' },
      verdict: 'session_stop',
    },
    {
      fact: 'a cap of the forced side wins over a forced turn',
      plan: both,
      step: { calls: [work], forcedTurn: 'b' },
      run: { sideSteps: { a: 1, b: 3 } },
      verdict: 'max_steps',
    },
    {
      fact: 'a forced turn that ends the turn counts as one',
      plan: { ...both, maxSessionTurns: 1 },
      step: { calls: [work], forcedTurn: 'b' },
      verdict: 'max_session_turns',
    },
    {
      fact: 'a failed session tool does not undo a forced turn',
      plan: dualPlan(LIFECYCLE, {}),
      step: { calls: [doneCall('close', 'failed')], forcedTurn: 'b' },
      verdict: 'switch forced_turn to b',
    },
  ])
})

describe('a handoff', () => {
  const transfer = doneCall('transfer')
  const step = { calls: [transfer], handOff: 'boss' }
  table([
    {
      fact: 'it is no turn end',
      plan: dualPlan({}, {}),
      step: { ...step, text: true },
      verdict: 'hand off to boss a',
    },
    {
      fact: 'a stop tool does not keep it',
      plan: plan(LIFECYCLE),
      step: { ...step, calls: [transfer, doneCall('finish')] },
      verdict: 'hand off to boss a',
    },
    {
      fact: 'the step cap of the old side does not',
      plan: plan({ maxSteps: 1 }),
      step,
      verdict: 'hand off to boss a',
    },
    { fact: 'the cap of the runtime does', plan: plan(), step, run: { steps: 250 }, verdict: 'hard_cap' },
    {
      fact: 'a session end does',
      plan: plan(LIFECYCLE),
      step: { ...step, calls: [transfer, doneCall('close')] },
      verdict: 'session_stop',
    },
    {
      fact: 'a forced turn is one of the new agent',
      plan: plan(),
      step: { ...step, forcedTurn: 'b' },
      verdict: 'hand off to boss b',
    },
  ])
})

test('a side that the plan lacks is a bug', () => {
  expect(() => evaluateStop(plan(), run(), step({ side: 'b' }))).toThrow('has no side b')
})
