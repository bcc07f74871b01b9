import { describe, expect, test } from 'vitest'
import {
  answered,
  dualPlan,
  idleControl,
  message,
  NOW,
  plan,
  resultOf,
  run,
  started,
  USAGE,
  withCalls,
} from '../../test/support/control-states.js'
import type { AheadPair, CallModelAnswer } from '../protocol/activities.js'
import { LEVEL } from '../protocol/answer-problem.js'
import { advance } from './advance.js'
import { NO_ANSWER, RULES, aheadOf, applyAllAhead, controlAhead, nextAhead } from './ahead.js'
import type { AheadAction } from './ahead.js'
import { applyToolAnswer, callInput } from './call-answers.js'
import type { ThreadControl } from './control.js'
import { goOn, acceptMessage, acceptStop } from './inbox.js'
import { applyModelAnswer, beginModelCall, modelInput } from './model-answers.js'
import { nextAction } from './next-action.js'
import type { Action } from './next-action.js'
import { stepOf } from './run.js'
import { interruptStep } from './settling.js'

/** The state in which an activity has answered with these calls, and what it would do next. */
const after = (control: ThreadControl, patch: Partial<ThreadControl> = {}) =>
  nextAhead({ ...control, registered: true, ...patch }, NOW)

const withTool = (control: ThreadControl, outcome = resultOf()): ThreadControl =>
  applyToolAnswer(control, 'c0', outcome, NOW)

const elsewhere = (tools: 'model' | 'tool') => {
  const given = plan()
  const { clerk, writer } = given.prompts
  if (clerk === undefined || writer === undefined) throw new Error('Expected the prompts of tests.')
  const work = { kind: 'function', timeout: 1000, taskQueue: 'gpu' } as const
  const moved =
    tools === 'model' ? { ...clerk, taskQueue: 'gpu' } : { ...clerk, tools: { ...clerk.tools, work } }
  return plan({}, { prompts: { clerk: moved, writer } })
}

const base = { level: LEVEL, threadId: 't', now: NOW, run: 1, facts: [] }

const later = { kind: 'schedule_effect', id: 'e', dueAt: NOW + 1000 } as const

describe('what an activity does by itself', () => {
  test.each<[string, ThreadControl, string]>([
    ['a call of a function tool', withCalls('work'), 'executeTool'],
    ['a call of a name that the plan does not have', withCalls('nobody'), 'executeTool'],
    ['the second call of a step', withTool(withCalls('work', 'work')), 'executeTool'],
    ['the next model call', withTool(withCalls('work')), 'callModel'],
    ['the end of its run', answered(started(), { text: true }), 'settle'],
    [
      'the end of a run that has failed',
      idleControl(
        {},
        {
          runs: 1,
          plan: plan(),
          run: run({ ending: { reason: 'model_failed', outcome: 'failed', sessionCall: null } }),
        },
      ),
      'settle',
    ],
  ])('%s', (_what, control, kind) => {
    expect(after(control)?.action.kind).toBe(kind)
  })

  test.each<[string, ThreadControl]>([
    [
      'T3 a message in the queue before a model call',
      { ...withTool(withCalls('work')), queue: [message('m2')] },
    ],
    [
      'T3 a message in the queue before the end of the run',
      { ...answered(started(), { text: true }), queue: [message('m2')] },
    ],
    [
      'a message that a tool has queued',
      withTool(
        withCalls('work'),
        resultOf('succeeded', { operations: [{ kind: 'queue_message', id: 'q', role: 'user' }] }),
      ),
    ],
    [
      'a tool that a tool has queued',
      withTool(
        withCalls('work'),
        resultOf('succeeded', { operations: [{ kind: 'queue_tool', id: 'q', name: 'work' }] }),
      ),
    ],
    ['T8 a stop', acceptStop(withCalls('work'), {})],
    [
      'T8 a stop that a tool asks for',
      withTool(withCalls('work', 'work'), resultOf('succeeded', { operations: [{ kind: 'stop_run' }] })),
    ],
    ['T8 a termination', { ...withCalls('work'), terminating: true }],
    [
      'T8 the close of the thread',
      {
        ...withCalls('work'),
        closing: { outcome: 'terminated', reason: 'terminated', cascade: [], settled: false },
      },
    ],
    [
      'an effect that a tool has scheduled',
      withTool(withCalls('work'), resultOf('succeeded', { operations: [later] })),
    ],
    ['an effect that is due', { ...withTool(withCalls('work')), effects: [{ id: 'e', dueAt: NOW }] }],
    ['an effect that was given up', { ...withCalls('work'), givenUp: ['e'] }],
    [
      'a signal to another thread',
      { ...withCalls('work'), outbound: [{ to: 'o', operation: { kind: 'set_env' } }] },
    ],
    ['T7 a report that is owed', { ...withCalls('work'), invocations: ['c'] }],
    [
      'a subagent',
      { ...withCalls('work'), children: [{ state: 'closed', reference: 'k', status: 'completed' }] },
    ],
    [
      'T7 the thread of a subagent',
      { ...withCalls('work'), start: { agent: 'clerk', parent: { threadId: 'p', callId: 'pc' } } },
    ],
    [
      'a thread that closes after its run',
      { ...withCalls('work'), start: { agent: 'clerk', resumable: false } },
    ],
    ['T9 operations that nobody knows', { ...withCalls('work'), run: { ...run(), unacknowledged: ['c'] } }],
    [
      'facts whose storing nobody knows',
      { ...withCalls('work'), unansweredFacts: [{ now: NOW, facts: [] }] },
    ],
    ['facts that did not fit', { ...withCalls('work'), factsDropped: 1 }],
    [
      'a person who is asked',
      withTool(withCalls('work'), {
        type: 'pending',
        requestId: 'r',
        kind: 'approval',
        status: 'waiting_permission',
        next: 'execute',
      } as never),
    ],
    ['a wait', withTool(withCalls('work'), { type: 'wait', until: NOW + 5 } as never)],
    [
      'a tool in another language',
      withTool(withCalls('work'), { type: 'remote', taskQueue: 'q', activity: 'a', timeout: 1 } as never),
    ],
    [
      'a blocked end',
      withTool(withCalls('work'), { type: 'end', reason: 'blocked', outcome: 'blocked' } as never),
    ],
    [
      'a tool on another task queue',
      answered(started(), { plan: elsewhere('tool'), calls: [{ id: 'c0', name: 'work' }] }),
    ],
    [
      'a model on another task queue',
      withTool(answered(started(), { plan: elsewhere('model'), calls: [{ id: 'c0', name: 'nobody' }] })),
    ],
    [
      'a tool whose kind an activity had to find',
      withTool(withCalls('nobody'), { type: 'kind', tool: { kind: 'function', timeout: 1 } } as never),
    ],
    ['a subagent tool', withCalls('ask')],
    ['a message to a subagent', withCalls('write')],
    ['a prompt tool', withCalls('draft')],
    [
      'a hand-off',
      withTool(
        withCalls('transfer'),
        resultOf('succeeded', { operations: [{ kind: 'hand_off', agent: 'boss' }] }),
      ),
    ],
    ['a plan that is unknown', { ...withTool(withCalls('work')), run: { ...run(), planning: 'unknown' } }],
    ['no run', idleControl()],
  ])('ends with %s', (_what, control) => {
    expect(after(control)).toBeNull()
  })

  const asks = (control: ThreadControl) => {
    const action = nextAction(control)
    if (action.kind !== 'callModel') throw new Error(`Expected a model call, got ${action.kind}.`)
    return aheadOf(control, action)
  }
  const call = { side: 'a', asked: false, toolFirst: false } as const
  const behind = { kind: 'tool', id: 'q', name: 'work', queuedAt: NOW } as const

  test('it is told that it may, in a few bytes', () => {
    const given = asks(started())
    expect(given).toEqual({ rules: RULES, settles: 0, run: ['a', [0, 0], 0, 0, [0, 0, 0, 0]] })
    expect(JSON.stringify(asks(advance(withTool(withCalls('work')))))).toHaveLength(56)
  })

  test('T4 a prompt of the other side that has been active does not become active again', () => {
    const judged = { ...withTool(withCalls('work')), plan: dualPlan({}, {}), activated: ['a'] as const }
    const control = advance(judged)
    const action = nextAction({ ...control, run: { ...run(), side: 'b' } }) as AheadAction & {
      kind: 'callModel'
    }
    const ahead = aheadOf(control, action)
    const input = { ...modelInput(control, action), ...base, ...(ahead !== undefined && { ahead }) }
    if (ahead === undefined) throw new Error('Expected the activity to go on by itself.')
    const known = controlAhead(input, ahead, control.plan)
    const sides = (state: ThreadControl) =>
      applyModelAnswer(state, action, { type: 'answered', text: true, calls: [], usage: USAGE }, NOW)
        .activated
    expect(sides(known).toSorted()).toEqual(sides(control).toSorted())
  })

  test.each<[string, ThreadControl]>([
    ['its run begins with a queued tool', advance(idleControl({}, { queue: [behind] }))],
    ['the call is repeated as it was', { ...started(), run: run({ call }) }],
    ['a queued tool waits behind what it drains', { ...started(), queue: [message('m1'), behind] }],
    ['it runs on another task queue', { ...started(), plan: elsewhere('model') }],
    ['the thread is a subagent', started(idleControl({ parent: { threadId: 'p', callId: 'pc' } }))],
    ['an effect waits for its time', started(idleControl({}, { effects: [{ id: 'e', dueAt: NOW + 1 }] }))],
  ])('it must not where %s', (_what, control) => {
    expect(asks(control)).toBeUndefined()
  })
})

describe('what came meanwhile', () => {
  const action = nextAction(started()) as Extract<Action, { readonly kind: 'callModel' }>
  const begun = beginModelCall(started(), action)
  const answer: CallModelAnswer = {
    type: 'answered',
    plan: plan(),
    text: true,
    calls: [{ id: 'c0', name: 'work' }],
    usage: USAGE,
  }
  const queues = {
    type: 'result',
    outcome: 'succeeded',
    operations: [{ kind: 'queue_message', id: 'q', role: 'user' }],
  } as const
  const meet = (
    received: readonly ((control: ThreadControl) => ThreadControl)[],
    ...pairs: readonly AheadPair[]
  ) =>
    applyAllAhead(
      {
        waiting: received.reduce((control, change) => change(control), begun),
        received,
        begun,
        action,
        answer,
        pairs,
      },
      NOW + 9,
    )
  const tool: AheadPair = { id: 'c0', at: NOW + 1, answer: { type: 'result', outcome: 'succeeded' } as never }
  const model: AheadPair = {
    id: 'model_1_2',
    at: NOW + 2,
    answer: { type: 'answered', text: true, calls: [], usage: USAGE } as never,
  }
  const settled: AheadPair = { id: 'settle_1', at: NOW + 3, answer: { type: 'settled' } }
  const said = (id: string) => (control: ThreadControl) =>
    acceptMessage(control, { messageId: id, role: 'user' }, NOW + 1)
  const ids = ({ queue }: ThreadControl) => queue.map(({ id }) => id)

  test('T3 items stay before those that a tool queued', () => {
    expect(ids(meet([said('m2'), said('m3')], { ...tool, answer: queues }))).toEqual(['m2', 'm3', 'q'])
    expect(ids(meet([], { ...tool, answer: queues }))).toEqual(['q'])
  })

  test('T3 an item is once in the queue, and what was drained is not', () => {
    expect(ids(meet([said('m2')], tool, model, settled))).toEqual(['m2'])
    expect(meet([said('m2')], tool, model, settled)).toMatchObject({
      run: null,
      settles: 1,
      queueBytes: expect.any(Number) as number,
    })
  })

  test('T3 a continue that came waits once', () => {
    const going = (control: ThreadControl) => goOn(control, NOW + 1)
    expect(meet([going, going], tool, model).queue).toMatchObject([{ kind: 'continue' }])
  })

  test('T8 a stop ends the run behind what was done, and the steps that it may hide are named', () => {
    const stopped = meet([(control) => acceptStop(control, {})], tool)
    expect(stopped).toMatchObject({
      stopped: true,
      run: { stop: 'run_and_children', steps: 1, wentAhead: true },
    })
    const next = advance(stopped)
    expect(nextAction(next)).toMatchObject({ kind: 'settle', ending: { reason: 'stopped' } })
    const ended = interruptStep(next, { reason: 'stopped', outcome: 'cancelled', sessionCall: null }, NOW + 9)
    expect(ended.run).toMatchObject({ unacknowledged: [], unacknowledgedStep: 2 })
  })

  test('T9 a stop behind a step with open calls names these, too', () => {
    const next = advance(meet([(control) => acceptStop(control, {})], { ...tool, answer: NO_ANSWER }))
    const ended = interruptStep(next, { reason: 'stopped', outcome: 'cancelled', sessionCall: null }, NOW + 9)
    expect(ended.run).toMatchObject({ unacknowledged: ['c0'], unacknowledgedStep: 2 })
  })

  test('T8 a stop whose run has ended is one of an idle thread', () => {
    const stopped = meet([(control) => acceptStop(control, {})], tool, model, settled)
    expect(stopped).toMatchObject({
      run: null,
      stopped: false,
      lastRun: { reason: 'stop_on_response', steps: 2 },
    })
  })

  test('T8 a termination closes the thread behind what was done', () => {
    const ended = meet([(control) => ({ ...control, terminating: true })], tool, model, settled)
    expect(nextAction(advance(ended))).toMatchObject({ kind: 'settle', close: { outcome: 'terminated' } })
  })

  test('a call that an activity has begun is asked for again, and its facts are not stored twice', () => {
    const asked = meet([], tool, { ...model, answer: NO_ANSWER })
    expect(asked.facts).toEqual([])
    expect(asked.unansweredFacts).toMatchObject([{ now: NOW + 2 }])
    expect(asked.unansweredFacts[0]?.facts.map(({ type }) => type)).toContain('step.completed')
    expect(stepOf(asked.run)).toBeNull()
    expect(nextAction(advance(asked))).toMatchObject({ kind: 'callModel', run: { steps: 1 } })
  })

  test('an input that is sent alone names the same call', () => {
    const next = nextAction(meet([], { ...tool, answer: NO_ANSWER }))
    if (next.kind !== 'executeTool') throw new Error(`Expected the tool, got ${next.kind}.`)
    expect(callInput(meet([]), next)).toMatchObject({ callId: 'c0', step: 1 })
  })
})
