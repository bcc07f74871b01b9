import { describe, expect, test } from 'vitest'
import { NOW, USAGE, endOf, plan, resultOf, runOf, withCalls } from '../../test/support/control-states.js'
import { LIMITS } from '../protocol/limits.js'
import { advance } from './advance.js'
import {
  applyCallResult,
  applyPendingCall,
  applyFrameAnswer,
  beginFrame,
  applyToolKind,
} from './call-answers.js'
import { findCallInFlight } from './calls.js'
import type { ThreadControl } from './control.js'
import { acceptStop } from './inbox.js'
import { nextAction } from './next-action.js'
import { stepOf } from './run.js'
import { interruptStep } from './settling.js'
import { doingOf, statusOf } from './snapshot.js'

/** The prompt that the call in flight calls has answered with these calls. */
function openFrame(control: ThreadControl, ...names: readonly string[]): ThreadControl {
  const action = nextAction(control)
  if (action.kind !== 'callPrompt') throw new Error(`Expected a prompt to be called, got ${action.kind}.`)
  const calls = names.map((name, index) => ({ id: `${action.call.id}_${index}`, name }))
  const answer = { type: 'answered', text: true, calls, usage: USAGE } as const
  return applyFrameAnswer(beginFrame(control), action.frame, answer, NOW)
}

const one = openFrame(withCalls('draft', 'work'), 'work', 'ask')

describe('a prompt that is called as a tool', () => {
  test('its model is called in a frame of its own', () => {
    expect(nextAction(withCalls('draft'))).toMatchObject({
      kind: 'callPrompt',
      frame: { callId: 'c0', prompt: 'writer', depth: 1 },
    })
  })

  test('SA-R-05.1 its calls run before those of the step', () => {
    expect(nextAction(one)).toMatchObject({
      kind: 'executeTool',
      call: { id: 'c0_0' },
      promptPath: ['clerk', 'writer'],
      depth: 1,
    })
    const second = applyCallResult(one, 'c0_0', resultOf(), NOW)
    expect(nextAction(second)).toMatchObject({ kind: 'prepareChild', call: { id: 'c0_1' }, depth: 1 })
    const both = applyCallResult(second, 'c0_1', resultOf(), NOW)
    expect(nextAction(both)).toMatchObject({
      kind: 'completeCall',
      call: { id: 'c0' },
      by: { kind: 'frame', frame: { callId: 'c0', prompt: 'writer', depth: 1 } },
      depth: 0,
    })
    expect(nextAction(applyCallResult(both, 'c0', resultOf(), NOW))).toMatchObject({
      call: { id: 'c1' },
      depth: 0,
    })
  })

  test('a nested step counts no step and no turn, and its tokens', () => {
    const [before, after] = [runOf(withCalls('draft', 'work')), runOf(one)]
    expect(after).toMatchObject({ steps: 1, sideSteps: { a: 1, b: 0 }, sessionTurns: 0 })
    expect(after.usage.inputTokens).toBe(before.usage.inputTokens + USAGE.inputTokens)
  })

  test('phase 5 is marked once, before the nested step', () => {
    const begun = beginFrame(withCalls('draft'))
    expect(begun.facts.at(-1)).toMatchObject({ type: 'step.phase', payload: { phase: 5 } })
    expect(beginFrame(begun)).toBe(begun)
  })

  test('a stop tool inside a frame ends no turn', () => {
    const finishing = plan({ stopTool: 'work', sessionStop: 'ask' })
    const nested = openFrame({ ...withCalls('draft'), plan: finishing }, 'work', 'ask')
    const done = ['c0_0', 'c0_1', 'c0'].reduce(
      (next, id) => applyCallResult(next, id, resultOf(), NOW),
      nested,
    )
    expect(advance(done).run).toMatchObject({ phase: { kind: 'between_steps' } })
  })

  test('errors of nested calls are not counted', () => {
    const failed = resultOf('failed', { errorDigest: 'x' })
    expect(applyCallResult(one, 'c0_0', failed, NOW).run?.repeatedError).toBeNull()
    const done = applyCallResult(applyCallResult(one, 'c0_0', failed, NOW), 'c0_1', failed, NOW)
    expect(applyCallResult(done, 'c0', failed, NOW).run?.repeatedError).toEqual({ digest: 'x', count: 1 })
  })

  test('an answer without calls completes the frame', () => {
    expect(nextAction(openFrame(withCalls('draft')))).toMatchObject({
      kind: 'completeCall',
      by: { kind: 'frame' },
    })
  })
})

describe('depth', () => {
  const deepest = Array.from({ length: LIMITS.frameDepth }).reduce<ThreadControl>(
    (control) => openFrame(control, 'draft'),
    withCalls('draft'),
  )

  test('the ninth prompt is refused by the activity', () => {
    expect(nextAction(deepest)).toMatchObject({
      kind: 'executeTool',
      depth: LIMITS.frameDepth,
      promptPath: ['clerk', ...Array.from({ length: 8 }, () => 'writer')],
    })
  })

  test('a prompt too deep that an activity names ends the run', () => {
    const id = findCallInFlight(stepOf(deepest.run)?.calls ?? [])?.call.id ?? ''
    expect(endOf(applyToolKind(deepest, id, { kind: 'prompt', prompt: 'writer' }))?.reason).toBe('blocked')
  })

  test('calls that take too much of the carried state end the run', () => {
    const name = 'n'.repeat(LIMITS.nameLength)
    const names = Array.from({ length: LIMITS.toolCallsPerAnswer }, () => name)
    const full = openFrame(withCalls('draft'), 'draft', ...names.slice(1))
    expect(endOf(full)).toBeNull()
    expect(endOf(openFrame(full, ...names))).toMatchObject({ reason: 'hard_cap', outcome: 'failed' })
  })
})

describe('the end of a nested call is that of its run', () => {
  const ending = (answer: Parameters<typeof applyFrameAnswer>[2]): unknown =>
    applyFrameAnswer(withCalls('draft'), { callId: 'c0', prompt: 'writer' }, answer, NOW).run

  test('a nested model that fails ends the run', () => {
    expect(ending({ type: 'end', reason: 'model_failed', outcome: 'failed' })).toMatchObject({
      phase: { ending: { reason: 'model_failed', outcome: 'failed' } },
    })
  })

  test('a nested model that is cut asks for the end', () => {
    expect(ending({ type: 'interrupted' })).toMatchObject({ stop: 'run' })
  })

  test('a nested model may have to wait', () => {
    expect(ending({ type: 'wait', until: NOW + 5 })).toMatchObject({
      phase: { kind: 'waiting', until: NOW + 5, work: { kind: 'stepping' } },
    })
  })

  test('a stop leaves no call open at any depth', () => {
    const stopped = acceptStop(one, undefined)
    expect(nextAction(stopped)).toMatchObject({ kind: 'settle', ending: { reason: 'stopped' } })
    expect(
      stepOf(interruptStep(stopped, { reason: 'stopped', outcome: 'cancelled', sessionCall: null }, NOW).run)
        ?.calls,
    ).toEqual([])
  })
})

describe('what is being done', () => {
  test('the innermost thing is named', () => {
    expect(doingOf(withCalls('draft'))).toBe('model writing')
    expect(doingOf(one)).toBe('tool work')
  })

  test('a nested call that waits gives the thread its status', () => {
    const request = {
      requestId: 'r',
      kind: 'approval',
      status: 'waiting_permission',
      next: 'execute',
    } as const
    expect(statusOf(applyPendingCall(one, 'c0_0', { type: 'pending', ...request }, NOW))).toBe(
      'waiting_permission',
    )
  })
})

describe('a name that the plan does not have', () => {
  test('the workflow goes on with what the activity said', () => {
    const prompt = applyToolKind(withCalls('hidden'), 'c0', { kind: 'prompt', prompt: 'elsewhere' })
    expect(nextAction(prompt)).toMatchObject({ kind: 'callPrompt', frame: { prompt: 'elsewhere', depth: 1 } })
    expect(doingOf(prompt)).toBe('model elsewhere')
    expect(nextAction(openFrame(prompt, 'work'))).toMatchObject({ kind: 'executeTool', tool: undefined })
    const child = applyToolKind(withCalls('hidden'), 'c0', { kind: 'subagent', agent: 'helper' })
    expect(nextAction(child)).toMatchObject({ kind: 'prepareChild' })
  })

  test.each([[{ kind: 'function', timeout: 1 }], [{ kind: 'hand_off', agent: 'boss' }]] as const)(
    'what would be asked for without end ends the run: %j',
    (tool) => {
      expect(endOf(applyToolKind(withCalls('hidden'), 'c0', tool))?.reason).toBe('blocked')
    },
  )

  test('an activity says what a name is once', () => {
    const prompt = { kind: 'prompt', prompt: 'writer' } as const
    const twice = applyToolKind(applyToolKind(withCalls('hidden'), 'c0', prompt), 'c0', prompt)
    expect(endOf(twice)?.reason).toBe('blocked')
  })
})
