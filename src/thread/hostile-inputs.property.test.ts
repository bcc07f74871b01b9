import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { withStarted } from '../../test/support/child-states.js'
import {
  idleControl,
  message,
  NOW,
  plan,
  started,
  USAGE,
  withCalls,
} from '../../test/support/control-states.js'
import type { CallModelAnswer } from '../protocol/activities.js'
import { answerProblem } from '../protocol/answer-problem.js'
import { LIMITS } from '../protocol/limits.js'
import { threadStartProblem } from '../protocol/message-problems.js'
import type { RemoveQueued, Respond, ThreadStart } from '../protocol/messages.js'
import { utf8Length } from '../protocol/values.js'
import { advance } from './advance.js'
import { applyFrameAnswer, applyResponse, responseRefusal } from './call-answers.js'
import { acceptReport } from './children.js'
import { carry, reopenThread, restore, initialControl } from './continue-as-new.js'
import type { ThreadControl } from './control.js'
import * as inbox from './inbox.js'
import { applyModelAnswer } from './model-answers.js'
import { nextAction } from './next-action.js'
import { acceptOperations, removeQueuedItem, removalRefusal } from './operations.js'
import { stepOf } from './run.js'
import { snapshotOf } from './snapshot.js'

/** Values that JSON can carry, and what the payload converter makes of bytes that cannot be decoded. */
const VALUE = fc.oneof(
  { weight: 5, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  fc.constantFrom(
    undefined,
    { undecodable: true },
    '',
    ' '.repeat(5000),
    '\u0000',
    'everthread:x',
    '__proto__',
  ),
  fc.constantFrom(-1, 0.5, 1e300, Number.MAX_SAFE_INTEGER, true, [], {}, [[]], [null], ['c0'], ['c0', 7]),
)

/** Something well formed of which some fields are replaced, left out or added. */
function near(fields: Readonly<Record<string, unknown>>): fc.Arbitrary<unknown> {
  const entries = Object.entries(fields).map(([name, right]) => {
    const value = fc.oneof({ weight: 8, arbitrary: fc.constant(right) }, VALUE)
    return fc.tuple(fc.constant(name), value, fc.nat(15))
  })
  return fc
    .tuple(fc.tuple(...entries), fc.dictionary(fc.string(), VALUE, { maxKeys: 2 }))
    .map(([made, more]) => ({
      ...more,
      ...Object.fromEntries(made.flatMap(([name, value, fate]) => (fate > 0 ? [[name, value]] : []))),
    }))
}

const CHILD = { reference: 'k', report: 1, invocations: ['c0'], kind: 'result', messageId: 'r', closes: true }
const OPERATION = { kind: 'queue_tool', id: 'x', name: 'work', role: 'user', dueAt: NOW }
const SIGNAL = fc.oneof(
  VALUE,
  near({ messageId: 'm1', role: 'user', from: 'parent', invocation: 'c0' }),
  near({ content: 'words', role: 'assistant', silent: true }),
  near({ runId: 'run_1', children: false }),
  near({ toolCallId: 't1', name: 'work' }),
  near({ names: ['A'] }),
  near(CHILD),
  fc.array(near(OPERATION), { maxLength: 3 }).map((operations) => ({ operations })),
)
const IN_STEP = { operations: [OPERATION], usage: USAGE, plan: plan() }
const ASKED = { requestId: 'q', kind: 'budget', status: 'waiting_permission', next: 'execute' }
const MODEL_ANSWER = fc.oneof(
  VALUE,
  near({ type: 'answered', text: true, calls: [{ id: 'c0', name: 'work' }], ...IN_STEP }),
  near({
    type: 'activates',
    calls: [{ id: 'i', name: 'ask', tool: { kind: 'subagent_create' } }],
    ...IN_STEP,
  }),
  near({ type: 'interrupted', ...IN_STEP }),
  near({ type: 'end', reason: 'budget', outcome: 'blocked', request: { id: 'q', kind: 'x' }, ...IN_STEP }),
  near({ type: 'pending', ...ASKED, ...IN_STEP }),
  near({ type: 'wait', until: NOW, ...IN_STEP }),
  near({ type: 'refused', result: { type: 'result', outcome: 'failed', ...IN_STEP } }),
  fc.constantFrom('moved', 'begun', 'nothing_to_do', 'future').chain((type) => near({ type, plan: plan() })),
)
const MODEL_STATES: readonly ThreadControl[] = [started(), { ...started(), plan: plan() }, withCalls('draft')]
const UPDATE = fc.oneof(
  VALUE,
  near({ id: 'm1', approved: true }),
  near({ id: 'q', result: true }),
  near({ id: 'q', names: ['A'] }),
)
const START = near({
  ...{ agent: 'clerk', message: { messageId: 'm' }, userId: 'u', tags: ['a'], resumable: false },
  ...{
    searchAttributes: ['ThreadAgent'],
    showsWork: true,
    page: 'https://threads.example.com',
    limits: { heartbeatTimeout: 5000, historyEvents: 0 },
  },
  ...{ parent: { threadId: 'p', callId: 'c' }, undecodable: true },
})
const REOPENED = fc
  .tuple(
    START,
    near({
      ...{
        agent: 'clerk',
        runs: 1,
        settles: 1,
        reports: 0,
        items: 0,
        children: 0,
        activated: ['a'],
        side: 'a',
      },
      ...{ invocations: ['c'], effects: [['e', NOW]], open: [], deferred: [], groups: [] },
    }),
  )
  .map(([start, reopened]) => ({ ...(start as object), reopened }))

type Accept = (control: ThreadControl, input: unknown, now: number) => ThreadControl

const ACCEPT: readonly Accept[] = [
  inbox.acceptMessage,
  inbox.acceptTool,
  inbox.acceptSetEnv,
  inbox.acceptStop,
  inbox.acceptUnknownSignal,
  inbox.acceptContinue,
  acceptReport,
  acceptOperations,
]

const STATES: readonly ThreadControl[] = [
  idleControl(),
  idleControl({ parent: { threadId: 'p', callId: 'c' }, resumable: false }, { queue: [message('m1')] }),
  started(),
  withCalls('work', 'ask'),
  withStarted(),
  idleControl(
    {},
    { stopped: true, request: { id: 'q', kind: 'variables', toolName: null, requestedAt: NOW } },
  ),
]

/** The workflow goes on from there: it carries its state, shows itself and knows what comes next. */
function expectUnharmed(control: ThreadControl): void {
  const json = JSON.stringify(carry(control))
  expect(utf8Length(json)).toBeLessThan(LIMITS.carriedStateBytes)
  const next = advance(restore(JSON.parse(json) as ReturnType<typeof carry>, control.start))
  expect(nextAction(next).kind).toBeTypeOf('string')
  expect(snapshotOf(next, { now: NOW, since: NOW }).threadId).toBe('t')
  if (next.terminating) return
  const healthy = inbox.acceptMessage(next, { messageId: 'healthy' }, NOW)
  expect(healthy.queue.some(({ id }) => id === 'healthy')).toBe(true)
}

// A busy machine takes its time.
describe('T10 whatever a signal, update or start carries', { timeout: 60_000 }, () => {
  test('six thousand signals are taken, or recorded and skipped', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...STATES),
        fc.array(fc.tuple(fc.constantFrom(...ACCEPT), SIGNAL), { minLength: 1, maxLength: 4 }),
        (state, signals) => {
          expectUnharmed(signals.reduce((control, [accept, input]) => accept(control, input, NOW), state))
        },
      ),
      { numRuns: 6000 },
    )
  })

  test('two thousand updates are taken, or refused by a name', () => {
    fc.assert(
      fc.property(fc.constantFrom(...STATES), UPDATE, (state, input) => {
        const [answers, removes] = [responseRefusal(state, input), removalRefusal(state, input)]
        expect([null, 'Request.Invalid', 'Request.NotFound']).toContain(answers)
        expect([null, 'Item.Invalid', 'Item.NotFound']).toContain(removes)
        if (answers === null) expectUnharmed(applyResponse(state, input as Respond, NOW))
        if (removes === null) expectUnharmed(removeQueuedItem(state, input as RemoveQueued))
      }),
      { numRuns: 2000 },
    )
  })

  test('three thousand answers of a model are applied, or refused in words without content', () => {
    fc.assert(
      fc.property(fc.constantFrom(...MODEL_STATES), MODEL_ANSWER, fc.boolean(), (state, answer, inFrame) => {
        const frame = inFrame ? { callId: 'c0', prompt: 'writer', depth: 1 } : null
        const asked = { level: 1, threadId: 't', now: NOW, run: 1, facts: [], frame }
        const problem = answerProblem('callModel', answer, {
          ...asked,
          knownPlan: state.plan?.digest ?? null,
        })
        if (problem !== undefined) {
          expect(problem.includes('\u0000') || problem.includes(' '.repeat(20))).toBe(false)
          return
        }
        const given = answer as Exclude<CallModelAnswer, { readonly type: 'terminated' }>
        if ((given.type as string) === 'terminated') return
        const called = { side: 'a', asked: false, toolFirst: false, drain: state.queue } as const
        if (frame === null) expectUnharmed(applyModelAnswer(state, called, given, NOW))
        else if (stepOf(state.run) != null) expectUnharmed(applyFrameAnswer(state, frame, given, NOW))
      }),
      { numRuns: 3000 },
    )
  })

  test('two thousand starts begin a thread, or are refused in words without content', () => {
    fc.assert(
      fc.property(fc.oneof(VALUE, START, REOPENED, REOPENED), (start) => {
        const problem = threadStartProblem(start)
        if (problem !== undefined) {
          expect(problem.includes('\u0000') || problem.includes(' '.repeat(20))).toBe(false)
          return
        }
        const { message: first, reopened, ...facts } = start as ThreadStart
        const initial = initialControl('t', facts, NOW)
        const begun = reopened === undefined ? initial : reopenThread(initial, reopened, NOW)
        expectUnharmed(first === undefined ? begun : inbox.acceptMessage(begun, first, NOW))
      }),
      { numRuns: 2000 },
    )
  })
})
