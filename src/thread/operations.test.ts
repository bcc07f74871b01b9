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
  started,
  withCalls,
} from '../../test/support/control-states.js'
import { LIMITS } from '../protocol/limits.js'
import type { ThreadOperation } from '../protocol/operations.js'
import { advance } from './advance.js'
import { applyEnd } from './apply.js'
import { applyCallResult } from './call-answers.js'
import type { ThreadControl } from './control.js'
import { acceptStop, acceptTool } from './inbox.js'
import { applyModelAnswer } from './model-answers.js'
import { nextAction } from './next-action.js'
import { applyOperations } from './operations.js'
import { stepOf } from './run.js'
import { listInterruptedTools, applySettle, interruptStep } from './settling.js'

const did = (control: ThreadControl, ...operations: readonly ThreadOperation[]): ThreadControl =>
  applyCallResult(control, 'c0', resultOf('succeeded', { operations }), NOW)
const tool = (id: string, name = 'work') => ({ kind: 'queue_tool', id, name }) as const
const handOff = { kind: 'hand_off', agent: 'boss' } as const

describe('a tool that was queued during a step', () => {
  test('it runs after the calls, before the stop tests', () => {
    const queued = did(withCalls('work', 'work'), tool('t1'))
    expect(advance(queued)).toBe(queued)
    const next = applyCallResult(queued, 'c1', resultOf(), NOW)
    expect(stepOf(next.run)?.phase).toBe(5)
    expect(nextAction(advance(next))).toMatchObject({
      kind: 'executeTool',
      call: { id: 't1', queued: true },
      promptPath: ['clerk'],
    })
    expect(stepOf(advance(applyCallResult(next, 't1', resultOf(), NOW)).run)).toBeNull()
  })

  test('it is judged as a call of the step', () => {
    const queued = did({ ...withCalls('work'), plan: plan({ sessionStop: 'close' }) }, tool('t1', 'close'))
    expect(endOf(advance(applyCallResult(queued, 't1', resultOf(), NOW)))).toMatchObject({
      reason: 'session_stop',
      sessionCall: 't1',
    })
  })

  test('the fifty and first of a step is refused with a warning', () => {
    const many = Array.from({ length: LIMITS.queuedToolsPerStep + 1 }, (_, index) => tool(`t${index}`))
    const queued = did(withCalls('work'), ...many)
    expect(stepOf(queued.run)?.calls).toHaveLength(LIMITS.queuedToolsPerStep + 1)
    expect(queued.facts.at(-1)).toMatchObject({
      scope: { toolCallId: 't50' },
      payload: { code: 'queue_full' },
    })
  })

  test('the call that queues it is not the last, and leaves phase 6', () => {
    const queued = did(withCalls('work'), tool('t1'))
    expect(stepOf(queued.run)).toMatchObject({ phase: 5, calls: [{ state: 'done' }, { id: 't1' }] })
    expect(stepOf(applyCallResult(queued, 't1', resultOf(), NOW).run)?.phase).toBe(6)
  })

  test('phase 6 is marked for a call whose tool is refused', () => {
    const many = Array.from({ length: LIMITS.queuedToolsPerStep }, (_, index) => tool(`t${index}`))
    const full = did(withCalls('work', 'work'), ...many)
    const done = many.reduce((next, { id }) => applyCallResult(next, id, resultOf(), NOW), full)
    const last = applyCallResult(done, 'c1', resultOf('succeeded', { operations: [tool('t50')] }), NOW)
    const phases = advance(last).facts.flatMap(({ payload }) => ('phase' in payload ? payload.phase : []))
    expect(phases).toEqual([6, 7])
  })

  test('a hook of the model call queues it too', () => {
    const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cost: 0 }
    const answer = {
      type: 'answered',
      text: true,
      calls: [],
      usage,
      plan: plan(),
      operations: [tool('t1')],
    } as const
    const called = { side: 'a', asked: false, toolFirst: false, drain: [] } as const
    const control = applyModelAnswer(started(), called, answer, NOW)
    expect(nextAction(advance(control))).toMatchObject({ kind: 'executeTool', call: { id: 't1' } })
    // The response has text and no calls of its own: the turn ends.
    expect(endOf(advance(applyCallResult(control, 't1', resultOf(), NOW)))?.reason).toBe('stop_on_response')
  })

  test('between steps and without a run it is an item', () => {
    expect(applyOperations(idleControl(), [tool('t1')], NOW).queue).toMatchObject([
      { kind: 'tool', id: 't1' },
    ])
    const between = idleControl({}, { run: run(), plan: plan() })
    expect(applyOperations(between, [tool('t1')], NOW).queue).toHaveLength(1)
  })

  test('at the end of a run it runs no more', () => {
    const end = { type: 'end', reason: 'model_failed', outcome: 'failed' } as const
    const ending = applyEnd(idleControl({}, { run: run() }), end, NOW)
    expect(applyOperations(ending, [tool('t1')], NOW).queue).toEqual([])
  })
})

describe('a tool of the inbox', () => {
  const queued = acceptTool(idleControl(), { toolCallId: 't1', name: 'work' }, NOW)
  const first = { side: 'a', asked: false, toolFirst: true, drain: [] } as const
  const begin = advance(queued)
  const begun = advance(applyModelAnswer(begin, first, { type: 'begun', plan: plan() }, NOW))

  test('its run begins with a plan and no model call', () => {
    expect(begin.run?.trigger).toBe('tool')
    expect(nextAction(begin)).toMatchObject({ kind: 'callModel', toolFirst: true, drain: [], asked: false })
  })

  test('T3 it is taken from the queue as a call without a step', () => {
    expect(begun).toMatchObject({
      queue: [],
      run: { began: 'with_tool', phase: { step: { outside: true, number: 0 } } },
    })
    expect(nextAction(begun)).toMatchObject({
      kind: 'executeTool',
      call: { id: 't1' },
      promptPath: [],
      depth: 0,
    })
  })

  test('a step that was asked for follows, and the call is not judged', () => {
    const closing = { ...begun, plan: plan({ sessionStop: 'work', stopTool: 'work' }) }
    const done = advance(applyCallResult(closing, 't1', resultOf(), NOW))
    expect(done.facts.some(({ type }) => type.startsWith('step.'))).toBe(false)
    expect(nextAction(done)).toMatchObject({ kind: 'callModel', asked: true, toolFirst: false })
  })

  test('one that hands over is followed by a step of the new agent', () => {
    const two = acceptTool(begun, { toolCallId: 't2', name: 'work' }, NOW)
    const result = resultOf('succeeded', { operations: [{ kind: 'hand_off', agent: 'boss' }] })
    const handed = advance(applyCallResult(two, 't1', result, NOW))
    expect(handed).toMatchObject({ agent: 'boss', plan: null, queue: [{ id: 't2' }] })
    expect(nextAction(handed)).toMatchObject({ kind: 'callModel', toolFirst: false, asked: true })
  })

  test('between two steps it is run before the next one', () => {
    const during = acceptTool(withCalls('work'), { toolCallId: 't1', name: 'work' }, NOW)
    const next = advance(applyCallResult(during, 'c0', resultOf(), NOW))
    expect(stepOf(next.run)).toMatchObject({ outside: true, number: 1, calls: [{ id: 't1' }] })
  })

  test('T3 a run that cannot begin ends with it, visibly', () => {
    const end = { type: 'end', reason: 'definition_missing', outcome: 'failed' } as const
    const ended = applyModelAnswer(begin, first, end, NOW)
    expect(ended).toMatchObject({ queue: [], run: { phase: { ending: { reason: 'definition_missing' } } } })
    expect(ended.facts.at(-1)).toMatchObject({
      scope: { toolCallId: 't1' },
      payload: { code: 'tool_skipped' },
    })
    // Only the end of its run can give it a result.
    expect(listInterruptedTools(ended, endOf(ended))).toEqual(['t1'])
    const blocked = applyModelAnswer(begin, first, { ...end, outcome: 'blocked' }, NOW)
    expect(blocked.queue).toHaveLength(1)
    expect(listInterruptedTools(blocked, endOf(blocked))).toEqual([])
  })

  test('what was cut before it ran ends with its run', () => {
    const stopped = acceptStop(begun, undefined)
    expect(
      listInterruptedTools(stopped, { reason: 'stopped', outcome: 'cancelled', sessionCall: null }),
    ).toEqual(['t1'])
    expect(listInterruptedTools(applyCallResult(begun, 't1', resultOf(), NOW), null)).toEqual([])
    // A call of a step has its place in the transcript already.
    expect(listInterruptedTools(did(withCalls('work'), tool('t2')), null)).toEqual([])
  })

  test('a stop cuts it without phases of a step', () => {
    const cut = interruptStep(
      acceptStop(begun, undefined),
      { reason: 'stopped', outcome: 'cancelled', sessionCall: null },
      NOW,
    )
    expect(cut.facts.map(({ type }) => type)).toEqual(['queue.changed'])
    expect(stepOf(cut.run)?.calls).toEqual([])
  })

  test('T3 what it queues runs after it', () => {
    const more = applyCallResult(begun, 't1', resultOf('succeeded', { operations: [tool('t2')] }), NOW)
    expect(nextAction(advance(more))).toMatchObject({ call: { id: 't2' }, promptPath: [] })
  })
})

describe('a handoff', () => {
  const handed = advance(did({ ...withCalls('work'), plan: plan({ stopTool: 'work' }) }, handOff))

  test('another agent goes on in the same run, with a plan of its own', () => {
    expect(handed).toMatchObject({
      agent: 'boss',
      plan: null,
      run: {
        number: 1,
        steps: 1,
        sessionTurns: 0,
        side: 'a',
        planning: 'unknown',
        turn: { kind: 'starting' },
        phase: { kind: 'between_steps' },
      },
    })
    expect(handed.facts.at(-1)).toMatchObject({ type: 'side.completed', payload: { reason: 'hand_off' } })
    expect(nextAction(handed)).toMatchObject({ kind: 'callModel', side: 'a', toolFirst: false })
  })

  test('the first of a step wins', () => {
    const twice = did(withCalls('work'), handOff, { kind: 'hand_off', agent: 'other' })
    expect(stepOf(twice.run)?.handOff).toBe('boss')
    expect(advance(twice).agent).toBe('boss')
  })

  test('a session end wins over it', () => {
    const ended = advance(did({ ...withCalls('work'), plan: plan({ sessionStop: 'work' }) }, handOff))
    expect(ended).toMatchObject({ agent: 'clerk', run: { phase: { ending: { reason: 'session_stop' } } } })
  })

  test('a cap ends the run and leaves the thread to the new agent', () => {
    const caps = { stepsPerRun: 1, sessionTurns: 9, repeatedToolErrors: 8 }
    const ended = advance(did({ ...withCalls('work'), plan: plan({}, { caps }) }, handOff))
    expect(ended).toMatchObject({ agent: 'boss', run: { phase: { ending: { reason: 'hard_cap' } } } })
  })

  test('a stop of the same step does not undo it', () => {
    const stopped = acceptStop(did(withCalls('work', 'work'), handOff), undefined)
    const ending = { reason: 'stopped', outcome: 'cancelled', sessionCall: null } as const
    expect(interruptStep(stopped, ending, NOW).agent).toBe('boss')
  })

  test('T3 a queued tool waits until the new agent has a plan', () => {
    const queued = acceptTool(did(withCalls('work'), handOff), { toolCallId: 't1', name: 'work' }, NOW)
    expect(nextAction(advance(queued))).toMatchObject({ kind: 'callModel', toolFirst: false, drain: [] })
    const planned = advance(
      answered({ ...advance(queued), queue: [] }, { calls: [{ id: 'c1', name: 'work' }] }),
    )
    expect(planned.plan?.digest).toBe('plan-1')
  })
})

describe('what else a call may do', () => {
  test('a run that it stops ends, and the thread is not parked', () => {
    const stopped = advance(did(withCalls('work', 'work'), { kind: 'stop_run' }))
    const ending = { reason: 'stopped', outcome: 'cancelled', sessionCall: null } as const
    expect(nextAction(stopped)).toEqual({ kind: 'settle', ending, close: null })
    expect(applySettle(stopped, { ending, close: null, queued: 0 }, NOW).stopped).toBe(false)
  })

  test('a forced turn is the next one', () => {
    const forced = did({ ...withCalls('work'), plan: dualPlan({}, {}) }, { kind: 'force_turn', side: 'b' })
    expect(advance(forced).run).toMatchObject({ side: 'b', sessionTurns: 1, turn: { kind: 'starting' } })
  })

  test('a message that waited is taken back', () => {
    const control = applyOperations(
      idleControl({}, { queue: [message('a'), message('b')] }),
      [{ kind: 'remove_queued', id: 'a' }],
      NOW,
    )
    expect(control.queue).toEqual([message('b')])
  })

  test('variables that it set are looked for at the next step', () => {
    expect(did(withCalls('work'), { kind: 'set_env' }).queue).toMatchObject([{ kind: 'variables' }])
  })
})
