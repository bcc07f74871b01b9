import { describe, expect, test } from 'vitest'
import { preparedChild } from '../../test/support/child-states.js'
import {
  answered,
  asked,
  dualPlan,
  idleControl,
  message,
  NOW,
  plan,
  resultOf,
  runOf,
  started,
  USAGE,
} from '../../test/support/control-states.js'
import { advance } from './advance.js'
import { listOperations } from './apply.js'
import { applyCallResult } from './call-answers.js'
import { applyPreparedChildren, applyChildStart } from './child-calls.js'
import type { ThreadControl } from './control.js'
import { switchAgent } from './facts.js'
import { acceptStop, acceptTool } from './inbox.js'
import { applyModelAnswer } from './model-answers.js'
import { nextAction } from './next-action.js'
import { leaveStep } from './run.js'
import { listInterruptedTools, interruptStep } from './settling.js'

const CALLS = [
  { id: 'i1', name: 'ask', tool: { kind: 'subagent', agent: 'helper' } },
  { id: 'i2', name: 'hidden', tool: { kind: 'subagent', agent: 'other' } },
] as const
const answer = { type: 'activates', plan: plan(), calls: CALLS, usage: USAGE } as const
const begun = applyModelAnswer(started(), { ...asked(), drain: [message('m1')] }, answer, NOW)

describe('a prompt that becomes active', () => {
  test('T3 its subagents start first, and what waits stays where it is', () => {
    expect(begun.queue).toEqual([message('m1')])
    expect(begun).toMatchObject({ activated: ['a'], registered: true, run: { steps: 0, usage: USAGE } })
    expect(nextAction(begun)).toMatchObject({
      kind: 'prepareChild',
      call: { id: 'i1', queued: true },
      promptPath: [],
      tool: { agent: 'helper' },
    })
  })

  test('then the step follows, asked for by nobody', () => {
    const children = [preparedChild('k')]
    const prepared = applyPreparedChildren(
      begun,
      'i1',
      { type: 'children', children, group: false, blocking: false },
      NOW,
    )
    const sent = applyChildStart(prepared, { callId: 'i1', reference: 'k', isObserved: true }, NOW)
    const one = applyCallResult(sent, 'i1', resultOf(), NOW)
    expect(nextAction(one)).toMatchObject({ kind: 'prepareChild', call: { id: 'i2' } })
    const both = advance(applyCallResult(one, 'i2', resultOf('failed'), NOW))
    expect(nextAction(both)).toMatchObject({ kind: 'callModel', asked: false, drain: [message('m1')] })
    expect(both.run).toMatchObject({ steps: 0, trigger: 'message', began: 'not_yet' })
  })

  test('a stop gives them a result from the settle', () => {
    const stopped = acceptStop(begun, undefined)
    expect(
      listInterruptedTools(stopped, { reason: 'stopped', outcome: 'cancelled', sessionCall: null }),
    ).toEqual(['i1', 'i2'])
  })

  test('a stop before any of them began leaves them to the next run', () => {
    const ending = { reason: 'stopped', outcome: 'cancelled', sessionCall: null } as const
    expect(interruptStep(acceptStop(begun, undefined), ending, NOW).activated).toEqual([])
    const one = applyCallResult(begun, 'i1', resultOf('failed'), NOW)
    expect(interruptStep(acceptStop(one, undefined), ending, NOW).activated).toEqual(['a'])
    const failed = { ...ending, reason: 'hard_cap', outcome: 'failed' } as const
    expect(interruptStep(begun, failed, NOW).activated).toEqual(['a'])
  })

  test('T4 a run counts its activations, for a prompt may become active twice before one step', () => {
    expect(begun.run?.activations).toBe(1)
    const again = applyModelAnswer(begun, { ...asked(), drain: [] }, { type: 'activates', calls: [] }, NOW)
    expect(again.run?.activations).toBe(2)
  })

  test('a refused message then ends a run that has begun', () => {
    const done = advance({ ...begun, run: leaveStep(runOf(begun)) })
    const rests = applyModelAnswer(done, { ...asked(), drain: done.queue }, { type: 'nothing_to_do' }, NOW)
    expect(nextAction(rests)).toMatchObject({ kind: 'settle', ending: { reason: 'hook_blocked' } })
  })

  test('a run that was handed over before its first step has begun all the same', () => {
    const run = leaveStep(runOf(begun))
    const handed = switchAgent({ ...begun, run, queue: [] }, 'boss', 'a')
    const rests = applyModelAnswer(handed, { ...asked(), drain: [] }, { type: 'nothing_to_do' }, NOW)
    expect(nextAction(rests)).toMatchObject({ kind: 'settle', ending: { reason: 'nothing_to_do' } })
  })

  test('a run that nobody asked for a step ends well, or takes what came meanwhile', () => {
    const drain = [{ kind: 'continue', id: 'c1', queuedAt: NOW }] as const
    const run = leaveStep(runOf(begun))
    const rests = (queue: ThreadControl['queue']): ThreadControl =>
      applyModelAnswer({ ...begun, run, queue }, { ...asked(), drain }, { type: 'nothing_to_do' }, NOW)
    const ending = { reason: 'nothing_to_do', outcome: 'completed' }
    expect(nextAction(rests(drain))).toMatchObject({ kind: 'settle', ending })
    const later = message('m2')
    expect(nextAction(rests([...drain, later]))).toMatchObject({ kind: 'callModel', drain: [later] })
  })

  test('T4 the model call after one that found nothing to do is an operation of its own', () => {
    const run = leaveStep(runOf(begun))
    const later = { ...begun, run, queue: [message('m2')] }
    const nothing = { type: 'nothing_to_do' } as const
    const once = applyModelAnswer(later, { ...asked(), drain: [] }, nothing, NOW)
    expect(once.run?.idleCalls).toBe(1)
    const twice = applyModelAnswer(once, { ...asked(), drain: [] }, nothing, NOW)
    expect(twice.run?.idleCalls).toBe(2)
    expect(answered(twice).run).not.toHaveProperty('idleCalls')
    const { idleCalls } = runOf(twice)
    const input = { run: 1, step: 1, activated: true, ...(idleCalls !== undefined && { idleCalls }) }
    expect(listOperations('callModel', input)).toEqual(['model_1_1i2'])
  })
})

describe('a side whose prompt was active', () => {
  const after = (given: Parameters<typeof applyModelAnswer>[2]): ThreadControl =>
    applyModelAnswer(started(), { ...asked(), drain: [] }, given, NOW)

  test('a step that looked marks it', () => {
    expect(answered(started()).activated).toEqual(['a'])
    expect(after({ type: 'interrupted', plan: plan() }).activated).toEqual(['a'])
  })

  test.each([
    [{ type: 'end', reason: 'blocked', outcome: 'blocked' }],
    [{ type: 'nothing_to_do' }],
    [{ type: 'wait', until: NOW }],
    [{ type: 'begun', plan: plan() }],
  ] as const)('a step that did not come so far does not: %j', (given) => {
    expect(after(given).activated).toEqual([])
  })

  test('each side has its own', () => {
    const both = dualPlan({}, {})
    const first = answered(started(), { plan: both })
    const control = { ...first, queue: [], run: first.run === null ? null : { ...first.run, step: null } }
    const second = applyModelAnswer(control, { ...asked('b'), drain: [] }, { ...answer, plan: both }, NOW)
    expect(second.activated).toEqual(['a', 'b'])
  })

  test('before the plan is known a message for side b is of side a', () => {
    const control = applyModelAnswer(started(), { ...asked('b'), drain: [] }, answer, NOW)
    expect(control).toMatchObject({ activated: ['a'], run: { phase: { step: { side: 'a' } } } })
  })

  test('a handoff begins anew', () => {
    expect(switchAgent(answered(started()), 'boss', 'a').activated).toEqual([])
  })

  test('a queued tool goes before them', () => {
    const tool = acceptTool(idleControl(), { toolCallId: 't', name: 'work' }, NOW)
    expect(nextAction(advance(tool))).toMatchObject({ kind: 'callModel', toolFirst: true })
  })
})
