import { describe, expect, test } from 'vitest'
import { AheadThread, digestOfWorks } from '../../test/support/ahead-thread.js'
import type { Burst } from '../../test/support/ahead-thread.js'
import { NOW } from '../../test/support/control-states.js'
import { seededRandom } from '../../test/support/seeded-random.js'
import type { AheadPair, CallModelAnswer, ExecuteToolAnswer } from '../protocol/activities.js'
import { LEVEL } from '../protocol/answer-problem.js'
import type { SettleAnswer } from '../protocol/end-activities.js'
import type { Millis } from '../protocol/time.js'
import { advance } from './advance.js'
import { NO_ANSWER, RULES, applyAllAhead, beginAhead, nextAhead } from './ahead.js'
import type { AheadAction } from './ahead.js'
import { acknowledge, applyTermination } from './apply.js'
import { applyToolAnswer } from './call-answers.js'
import type { ThreadControl } from './control.js'
import { applyModelAnswer, beginModelCall } from './model-answers.js'
import { nextAction } from './next-action.js'
import type { Action } from './next-action.js'
import { applySettled, interruptStep } from './settling.js'

const UNKNOWN = new Set(['requestedAt', 'until', 'trigger'])
const ACTIVATION = new Set(['activated', 'activeSides'])

const LIVES = Array.from({ length: 600 }, (_, seed) => ({
  seed,
  thread: new AheadThread(seededRandom(seed)).live(),
}))
const BURSTS = LIVES.flatMap(({ seed, thread }) => thread.bursts.map((burst) => ({ seed, burst })))
const LONG_BURSTS = BURSTS.filter(({ burst }) => burst.pairs.length > 2)

/** What the workflow makes of the answer of an activity. */
function fold(burst: Burst, now: Millis, pairs: readonly AheadPair[] = burst.pairs): ThreadControl {
  const { begun, action, answer } = burst
  return applyAllAhead({ waiting: begun, received: [], begun, action, answer, pairs }, now)
}

/** One action and its answer, as the workflow applies them where each action is an activity of its own. */
function actAlone(control: ThreadControl, action: Action, { answer, began, now }: Alone): ThreadControl {
  const heard = (begun: ThreadControl) =>
    acknowledge(begun, begun, { answer, storesFacts: true, isOfStep: action.kind !== 'settle' })
  switch (action.kind) {
    case 'callModel': {
      const begun = heard(beginModelCall(control, action))
      const given = answer as CallModelAnswer
      return given.type === 'terminated'
        ? applyTermination(begun)
        : applyModelAnswer(begun, action, given, now)
    }
    case 'executeTool':
      return applyToolAnswer(heard(control), action.call.id, answer as ExecuteToolAnswer, now)
    case 'settle': {
      const begun = interruptStep(control, action.ending, began)
      return applySettled(heard(begun), { ...action, sent: begun }, answer as SettleAnswer, now)
    }
    default:
      throw new Error(`Expected an action that an activity may do, got ${action.kind}.`)
  }
}

interface Alone {
  readonly answer: AheadPair['answer']
  readonly began: Millis
  readonly now: Millis
}

/** The same actions one by one: what each activity would have got, and the state at the end. */
function oneByOne({ begun, action, answer, pairs }: Burst, now: Millis) {
  const works: unknown[] = []
  const known = acknowledge(begun, begun, { answer, storesFacts: true, isOfStep: true })
  const first = answer as Exclude<CallModelAnswer, { readonly type: 'terminated' }>
  let control = applyModelAnswer(known, action, first, pairs[0]?.at ?? now)
  for (const [index, pair] of pairs.entries()) {
    control = advance(control)
    const next = nextAction(control) as AheadAction
    works.push(beginAhead({ control, action: next }, { level: LEVEL, now: pair.at }).work)
    control = actAlone(control, next, {
      answer: pair.answer,
      began: pair.at,
      now: pairs[index + 1]?.at ?? now,
    })
  }
  return { works, control }
}

/** Without the mark of a run whose activity went on. */
function unmarked(control: ThreadControl): ThreadControl {
  if (control.run === null) return control
  const { wentAhead: _mark, ...unmarkedRun } = control.run
  return { ...control, run: unmarkedRun }
}

const warnings = ({ facts, unansweredFacts }: ThreadControl) =>
  [...facts, ...unansweredFacts.flatMap((sent) => sent.facts)].filter(
    ({ type, payload }) =>
      type === 'runtime.warning' && 'code' in payload && payload.code === 'ahead_dropped',
  ).length

describe('random threads', () => {
  test('the lives are many and different', () => {
    const names = BURSTS.flatMap(({ burst }) => burst.works.map(({ name }) => name))
    expect(LONG_BURSTS.length).toBeGreaterThan(250)
    for (const name of ['callModel', 'executeTool', 'settle'])
      expect(names.filter((one) => one === name).length).toBeGreaterThan(200)
    expect(Math.max(...BURSTS.map(({ burst }) => burst.pairs.length))).toBeGreaterThan(8)
    expect(BURSTS.filter(({ burst }) => burst.begun.facts.length > 0).length).toBeGreaterThan(30)
    expect(BURSTS.filter(({ burst }) => burst.begun.plan?.type === 'dual_ai').length).toBeGreaterThan(50)
  })

  /** Inputs as they are sent; which prompts have been active is compared by itself. */
  const inputsOf = (works: readonly unknown[], ofActivation: boolean): unknown => {
    const text = JSON.stringify(works, (name, value: unknown) => (ACTIVATION.has(name) ? undefined : value))
    return JSON.parse(ofActivation ? JSON.stringify(works) : text)
  }

  test.each([
    ['T4 an activity gives each action the input that the workflow would give it', false],
    ['T4 an activity knows which prompts have been active', true],
  ])('%s', (_fact, ofActivation) => {
    for (const { seed, burst } of BURSTS)
      expect({ seed, works: inputsOf(oneByOne(burst, NOW).works, ofActivation) }).toEqual({
        seed,
        works: inputsOf(burst.works, ofActivation),
      })
  })

  test('T1 the workflow gets where it would have got with an activity for each action', () => {
    const now = NOW + 1_000_000
    for (const { seed, burst } of BURSTS.filter(({ burst: { pairs } }) => pairs.length > 0))
      expect({ seed, control: unmarked(fold(burst, now)) }).toEqual({
        seed,
        control: unmarked(oneByOne(burst, now).control),
      })
  })

  test('where an activity ends, the workflow goes on with the same state', () => {
    // An activity does not know when its last answer is applied, nor what triggered a run that has begun.
    const comparable = ({ run, plan, queue, settles, facts, effects }: ThreadControl): unknown =>
      JSON.parse(
        JSON.stringify(
          { run, plan, settles, facts, effects, queue: queue.map(({ kind }) => kind) },
          (name, value: unknown) => (UNKNOWN.has(name) ? undefined : value),
        ),
      )
    for (const { seed, burst } of LONG_BURSTS) {
      const control = unmarked(fold(burst, NOW))
      expect({ seed, control: comparable(control) }).toEqual({ seed, control: comparable(burst.known) })
      expect(nextAction(advance(control)).kind).toBe(nextAction(advance(burst.known)).kind)
    }
  })

  test('an activity stops only before what it must not do', () => {
    for (const { burst } of LONG_BURSTS) expect(nextAhead(burst.known, NOW + 1_000_000)).toBeNull()
  })

  // Whoever changes what is decided, or what an action gets, raises RULES: workers of two versions share a thread.
  test('the decisions of RULES are pinned', () => {
    const decided = LIVES.slice(0, 100).map(({ thread }) => thread)
    expect(RULES).toBe(2)
    expect(
      digestOfWorks(decided),
      'Activities decide otherwise, or give their actions other inputs: raise RULES in src/thread/ahead.ts, and pin both here.',
    ).toBe('19b867d869c77588297918ebdc09756b07e40c2a79adf655c18be16fa957efa4')
  })
})

describe('answers that are not as the activity gives them', () => {
  const at = (pairs: readonly AheadPair[], index: number): AheadPair => {
    const pair = pairs[index]
    if (pair === undefined) throw new Error(`Expected a pair ${index}.`)
    return pair
  }

  test.each<[string, (pairs: readonly AheadPair[], index: number) => readonly AheadPair[], number]>([
    ['is too short', (pairs, k) => pairs.slice(0, k), 0],
    [
      'ends without its last answer',
      (pairs, k) => [...pairs.slice(0, k), { ...at(pairs, k), answer: NO_ANSWER }],
      0,
    ],
    [
      'has pairs behind one without answer',
      (pairs, k) => pairs.with(k, { ...at(pairs, k), answer: NO_ANSWER }),
      0,
    ],
    ['has two in the wrong order', (pairs, k) => [...pairs.slice(0, k), ...pairs.slice(k).toReversed()], 1],
    ['lacks one', (pairs, k) => pairs.toSpliced(k, 1), 1],
    ['has one twice', (pairs, k) => pairs.toSpliced(k, 0, at(pairs, k - 1)), 1],
    ['has one of another id', (pairs, k) => pairs.with(k, { ...at(pairs, k), id: 'model_9_9' }), 1],
    [
      'has an answer of an unknown type',
      (pairs, k) => pairs.with(k, { ...at(pairs, k), answer: { type: 'future' } }),
      1,
    ],
    [
      'has an answer without its fields',
      (pairs, k) => pairs.with(k, { ...at(pairs, k), answer: { type: 'answered' } }),
      1,
    ],
    [
      'has an answer of another action',
      (pairs, k) => pairs.with(k, { ...at(pairs, k), answer: { type: 'checked', closed: [] } as never }),
      1,
    ],
    ['has an empty answer', (pairs, k) => pairs.with(k, { ...at(pairs, k), answer: {} as never }), 1],
  ])('T10 one that %s is applied as far as it is right', (_what, garble, dropped) => {
    let tried = 0
    for (const { seed, burst } of LONG_BURSTS)
      for (const index of [1, burst.pairs.length - 2]) {
        const { pairs } = burst
        const given = garble(pairs, index)
        const now = at(given.length > index ? given : pairs, index).at
        const right = fold(burst, now, pairs.slice(0, index))
        const control = fold(burst, now, given)
        expect({ seed, dropped: warnings(control) }).toEqual({ seed, dropped })
        expect({ seed, ...control, facts: 0, unansweredFacts: 0 }).toEqual({
          seed,
          ...(given.length > index ? advanced(right, at(pairs, index), at(given, index)) : right),
          facts: 0,
          unansweredFacts: 0,
        })
        tried += 1
      }
    expect(tried).toBeGreaterThan(500)
  })

  test('T10 an empty list is one answer', () => {
    for (const { burst } of LONG_BURSTS.slice(0, 100)) {
      const { begun, action, answer } = burst
      const known = acknowledge(begun, begun, { answer, storesFacts: true, isOfStep: true })
      expect(unmarked(fold(burst, NOW, []))).toEqual(
        unmarked(applyModelAnswer(known, action, answer as never, NOW)),
      )
    }
  })
})

/** The workflow has begun the next action before it sees what is wrong with the answer. */
function advanced(control: ThreadControl, right: AheadPair, given: AheadPair): ThreadControl {
  const next = advance(control)
  const action = nextAction(next)
  const isBegun = given.answer === NO_ANSWER && right.id === given.id && action.kind === 'callModel'
  return isBegun ? beginModelCall(next, action) : next
}
