import { describe, expect, test } from 'vitest'
import { dualPlan, plan, USAGE } from '../../test/support/control-states.js'
import { answerProblem } from './answer-problem.js'
import type { ThreadActivities } from './answer-problem.js'
import type { ThreadOperation } from './operations.js'

const ASKED = { level: 1, threadId: 't', now: 1, run: 1, facts: [] }
const KNOWN = { ...ASKED, knownPlan: 'plan-1' }

type Name = keyof ThreadActivities

const OPERATIONS: readonly ThreadOperation[] = [
  { kind: 'queue_message', id: 't:call_1_1_0:0', role: 'user' },
  { kind: 'queue_tool', id: 'q', name: 'work' },
  { kind: 'schedule_effect', id: 'e', dueAt: 5 },
  { kind: 'remove_effect', id: 'e' },
  { kind: 'remove_queued', id: 'm' },
  { kind: 'set_env' },
  { kind: 'hand_off', agent: 'boss' },
  { kind: 'force_turn', side: 'b' },
  { kind: 'stop_run' },
  { kind: 'terminate' },
  {
    kind: 'defer_child',
    requestId: 'env',
    child: { reference: 'c', agent: 'helper', messageId: 'm', resumable: true },
    expiresAt: 9,
  },
  { kind: 'child_closed', reference: 'c', status: 'failed' },
  { kind: 'postpone_messages', ids: ['m'], runs: 1, settles: 1, reports: 0 },
  { kind: 'signal_thread', to: 'other', operation: { kind: 'set_env' } },
]

const REQUEST = { requestId: 'r', kind: 'budget', status: 'waiting_permission', next: 'execute' } as const
const IN_STEP = [
  { type: 'pending', ...REQUEST, operations: OPERATIONS },
  { type: 'wait', until: 5, usage: USAGE },
  { type: 'end', reason: 'budget', outcome: 'blocked', request: { id: 'r', kind: 'variables' } },
  { type: 'terminated' },
] as const
const RESULT = { type: 'result', outcome: 'failed', errorDigest: 'x', usage: USAGE, text: true } as const
const CALLS = [{ id: 'call_1_1_0', name: '(unknown)' }]

/** Answers of each activity, by its own types. */
const FITTING: { readonly [N in Name]: readonly Awaited<ReturnType<ThreadActivities[N]>>[] } = {
  callModel: [
    ...IN_STEP,
    { type: 'answered', plan: plan(), text: true, calls: CALLS, usage: USAGE, operations: OPERATIONS },
    {
      type: 'answered',
      plan: dualPlan({}, {}),
      text: true,
      truncated: true,
      calls: [],
      usage: { ...USAGE, cost: null },
    },
    { type: 'begun', plan: plan() },
    { type: 'moved', plan: plan() },
    {
      type: 'activates',
      plan: plan(),
      calls: [{ id: 'i', name: 'ask', tool: { kind: 'subagent', agent: 'a' } }],
    },
    { type: 'activates', plan: plan(), calls: [] },
    { type: 'refused', result: RESULT },
    { type: 'nothing_to_do' },
    { type: 'interrupted' },
  ],
  executeTool: [
    ...IN_STEP,
    RESULT,
    { type: 'kind', tool: { kind: 'function', timeout: 5, taskQueue: 'gpu' } },
    { type: 'remote', taskQueue: 'python', activity: 'draw', timeout: 1000 },
  ],
  prepareChild: [
    ...IN_STEP,
    RESULT,
    {
      type: 'children',
      children: [{ reference: 'c', agent: 'helper', messageId: 'm', resumable: false }],
      ...{ group: false, blocking: true, timeout: 5 },
    },
  ],
  prepareMessage: [
    ...IN_STEP,
    RESULT,
    { type: 'message', reference: 'c', messageId: 'm', role: 'user', blocking: false },
  ],
  completeCall: [...IN_STEP, RESULT],
  deliverReport: [{ type: 'delivered', kind: 'notice', messageId: null }, { type: 'parent_gone' }],
  checkChildren: [{ type: 'checked', closed: [{ reference: 'c', status: 'failed' }], missed: [], looked: 1 }],
  expireChild: [{ type: 'expired', messageId: null }],
  runEffect: [{ type: 'ran', operations: OPERATIONS }, { type: 'terminated' }],
  settle: [{ type: 'settled', operations: OPERATIONS, terminated: true }],
  storeStop: [{ type: 'stored' }],
}

const NAMES = Object.keys(FITTING) as readonly Name[]
const NONE: readonly unknown[] = [
  null,
  undefined,
  '',
  'x',
  5,
  true,
  [],
  [{}],
  {},
  { type: 5 },
  { type: 'future' },
]

describe.each(NAMES)('the answer of %s', (name) => {
  test('T10 passes the guard in each of its forms', () => {
    for (const answer of FITTING[name]) expect(answerProblem(name, answer, ASKED)).toBeUndefined()
  })

  test('T11 may have fields of a newer version', () => {
    for (const answer of FITTING[name])
      expect(answerProblem(name, { ...answer, later: { any: 1 } }, ASKED)).toBeUndefined()
  })

  test('T10 is none when it is another value or an unknown tag', () => {
    for (const value of NONE) expect(answerProblem(name, value, ASKED)).toMatch(/^Expected /)
    expect(answerProblem(name, { type: 'constructor' }, ASKED)).toContain('"type" to be one of')
  })

  test('T10 is none when any of its values has another type', () => {
    for (const answer of FITTING[name])
      for (const wrong of mutants(answer)) {
        const problem = answerProblem(name, wrong, KNOWN)
        expect(problem ?? JSON.stringify(wrong)).toMatch(/^Expected /)
        expect(problem).not.toContain('§')
      }
  })
})

test('T10 the first answer of a side has to bring its plan', () => {
  const answer = { type: 'answered', text: true, calls: [], usage: USAGE }
  expect(answerProblem('callModel', answer, ASKED)).toContain('"plan"')
  expect(answerProblem('callModel', answer, KNOWN)).toBeUndefined()
  const frame = { callId: 'c', prompt: 'p', depth: 1 }
  expect(answerProblem('callModel', answer, { ...ASKED, frame })).toBeUndefined()
})

test('T10 a plan whose side has no prompt is none', () => {
  const broken = { ...plan(), prompts: {} }
  expect(answerProblem('callModel', { type: 'moved', plan: broken }, ASKED)).toContain('"plan"')
})

test('T10 a plan of two agents without the second side is none', () => {
  const broken = { ...dualPlan({}, {}), sides: { ...dualPlan({}, {}).sides, b: null } }
  expect(answerProblem('callModel', { type: 'begun', plan: broken }, ASKED)).toContain('"plan"')
})

test.each(['/_sys/python', 'py\u0000thon'])('T10 a call on the task queue %j is none', (taskQueue) => {
  const remote = { type: 'remote', taskQueue, activity: 'draw', timeout: 1000 }
  expect(answerProblem('executeTool', remote, ASKED)).toContain('"taskQueue"')
  const kind = { type: 'kind', tool: { kind: 'function', timeout: 5, taskQueue } }
  expect(answerProblem('executeTool', kind, ASKED)).toContain('"tool"')
})

test('T10 an answer above 64 KB is none', () => {
  const calls = Array.from({ length: 2000 }, (_, index) => ({ id: `call_${index}`, name: 'x'.repeat(30) }))
  const answer = { type: 'answered', plan: plan(), text: true, calls, usage: USAGE }
  expect(answerProblem('callModel', answer, ASKED)).toContain('bytes')
})

/** The value with one field, at any depth, of a type that does not fit there. */
function mutants(value: object): readonly object[] {
  return Object.entries(value).flatMap(([field, inner]: [string, unknown]) => {
    const own = [{ ...value, [field]: Array.isArray(inner) ? '§' : ['§'] }]
    if (Array.isArray(inner)) {
      const deep = inner.flatMap((one: unknown, index) =>
        typeof one === 'object' && one !== null
          ? mutants(one).map((wrong) => ({ ...value, [field]: inner.with(index, wrong) }))
          : [{ ...value, [field]: inner.with(index, {}) }],
      )
      return [...own, ...deep]
    }
    if (typeof inner !== 'object' || inner === null) return own
    return [...own, ...mutants(inner).map((wrong) => ({ ...value, [field]: wrong }))]
  })
}
