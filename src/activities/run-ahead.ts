/**
 * An activity that goes on after its model call: it stores the end of the run, and with `runAhead` it does the next steps.
 * Owns: how long it goes on.
 * Does not own: what comes next, and how the workflow takes it over (`thread/ahead.ts`); how two operations share a transaction
 * (`sequence.ts`).
 * Each action is done by the function that is an activity where the workflow schedules it: the same rows, events and spans, in
 * fewer transactions. An action that fails is not in the answer; the workflow schedules it, and its operation continues from its row.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as takeTurn } from 'node:timers/promises'

import type { AheadPair, CallModelAnswer, CallModelInput } from '../protocol/activities.js'
import { ACTIVITIES, LEVEL } from '../protocol/answer-problem.js'
import { LIMITS } from '../protocol/limits.js'
import type { Plan } from '../protocol/plan.js'
import type { Millis } from '../protocol/time.js'
import { countUndelivered } from '../store/messages/message-writes.js'
import { findOperation } from '../store/operations.js'
import type { Store } from '../store/store.js'
import { isNewsStored } from '../store/threads/stops.js'
import {
  NO_ANSWER,
  RULES,
  applyAhead,
  beginAhead,
  controlAhead,
  modelActionOf,
  nextAhead,
} from '../thread/ahead.js'
import type { AheadWork, NextAhead } from '../thread/ahead.js'
import { setHeartbeatDetails, withStops } from './activity.js'
import type { ActivityDependencies } from './activity.js'
import { observeCall, observeSettle, observeStep } from './observe.js'
import { loadPlan } from './plan-content.js'
import { doBeforeNext } from './sequence.js'
import { settle } from './settle.js'
import { Context, setCurrentInput } from './temporal-activity.js'
import { executeTool } from './tool/execute-tool.js'
import { callModel } from './turn/call-model.js'
import { operationOf } from './turn/model-step.js'

/** An answer with more bytes of actions begins no other one: it leaves room for the operations of a tool. */
const PAIR_BYTES = 12_000

/** What hooks and the store may take beside an action's own limit, before start-to-close ends the activity. */
const SLACK = 300_000

/** The activity `callModel`, and what it does ahead of the workflow. */
export async function callModelAhead(
  dependencies: ActivityDependencies,
  input: CallModelInput,
): Promise<CallModelAnswer> {
  const { ahead } = input
  const call = (): Promise<CallModelAnswer> =>
    observeStep(dependencies, input, () => callModel(dependencies, input))
  if (ahead?.rules !== RULES) return call()
  return withStops(dependencies.store, input, async (signal) => {
    const began = performance.now()
    const now = (): Millis => input.now + Math.round(performance.now() - began)
    const going = { dependencies, input, ahead, signal, now, began, inActivity: AsyncLocalStorage.snapshot() }
    const operation = {
      id: operationOf(input).id,
      after: (given: CallModelAnswer) => behindCall(going, given),
    }
    const { answer, next } = await endBeforeNext(going, operation, call)
    const pairs = await goOn(next)
    return pairs.length === 0 ? answer : { ...answer, ahead: fitting(answer, pairs) }
  })
}

interface Going {
  readonly dependencies: ActivityDependencies
  readonly input: CallModelInput
  readonly ahead: NonNullable<CallModelInput['ahead']>
  readonly signal: AbortSignal
  /** The workflow's time, by the clock of this worker since the activity began. */
  readonly now: () => Millis
  /** The time of `performance` at which the activity began. */
  readonly began: number
  /** Calls a function in the activity's own context, not in the span of the action that is about to end. */
  readonly inActivity: <T>(work: () => T) => T
}

/** Where the activity is behind an answer. */
interface Progress {
  readonly control: NextAhead['control']
  /** When the answer came, and the next action begins. */
  readonly at: Millis
  /** What it has done so far. */
  readonly pairs: readonly AheadPair[]
  /** Steps that it has begun, its own included. */
  readonly steps: number
  /** Steps of one activity; 0: each call is an activity of its own. */
  readonly most: number
}

/** The activity behind its own model call; null: a wait, a person, or another kind of action comes next. */
async function behindCall(
  { dependencies, input, ahead, now }: Going,
  answer: CallModelAnswer,
): Promise<Progress | null> {
  if (answer.type !== 'answered' && answer.type !== 'end') return null
  const plan = answer.type === 'answered' ? await planOf(dependencies, input, answer.plan) : null
  const start = controlAhead(input, ahead, answer.plan === undefined ? plan : null)
  if (start.run === null) return null
  const at = now()
  const control = applyAhead(start, modelActionOf(input, start.run), answer, at)
  const most = plan?.caps.stepsPerActivity ?? 0
  return { control, at, pairs: [], steps: 1, most }
}

/** The plan of the run, once its model has answered. */
async function planOf(
  dependencies: ActivityDependencies,
  { knownPlan }: CallModelInput,
  given: Plan | undefined,
): Promise<Plan | null> {
  if (given !== undefined || knownPlan === null) return given ?? null
  return (await loadPlan(dependencies, knownPlan)).plan
}

type Answer = AheadPair['answer']

/** An action with which the activity goes on. */
interface Following {
  readonly work: AheadWork
  readonly at: Millis
  /** Where the activity is behind its answer. */
  readonly after: (answer: Answer) => Promise<Progress>
}

/** An action that has begun. */
interface Begun extends Pick<Following, 'work' | 'at'> {
  readonly ended: Promise<Ended<Answer>>
  /** Lets it go on: the action before it has ended. */
  readonly release: () => void
}

/** The answer of an action, and the next one, which has begun. */
interface Ended<Given> {
  readonly answer: Given
  readonly next: Begun | null
}

/** Goes on with actions that have begun, until none follows. */
async function goOn(first: Begun | null): Promise<readonly AheadPair[]> {
  const pairs: AheadPair[] = []
  for (let begun = first; begun !== null;) {
    const { work, at } = begun
    // Steps without any wait of their own would keep the event loop from the other threads of this worker.
    if (work.name === 'callModel') await takeTurn()
    setCurrentInput(work.input)
    begun.release()
    const { answer, next }: Ended<Answer> = await begun.ended
    pairs.push({ id: work.id, at, answer })
    begun = next
  }
  return pairs
}

interface Operation<Given> {
  readonly id: string
  readonly after: (answer: Given) => Promise<Progress | null>
}

/** Does the work of an operation, and finds what follows it. */
async function endBeforeNext<Given>(
  going: Going,
  { id, after }: Operation<Given>,
  work: () => Promise<Given>,
): Promise<Ended<Given>> {
  const { store } = going.dependencies
  const operation = { id, run: going.input.run }
  const find = async (answer: Given, read: Store['read']): Promise<Following | null> =>
    findFollowing(going, await after(answer), read)
  const begin = (following: Following, own: Store): Promise<Ended<Answer>> =>
    beginFollowing(going, following, own)
  const { answer, next } = await doBeforeNext({ store, operation, find, begin }, work)
  if (next === null) return { answer, next }
  const { following, result: ended, release } = next
  return { answer, next: { ...following, ended, release } }
}

/** Begins an action; its answer comes with the one that follows it. If it fails, the workflow asks for it, and the failure counts there. */
function beginFollowing(going: Going, { work, after }: Following, store: Store): Promise<Ended<Answer>> {
  const dependencies = { ...going.dependencies, store }
  const ended = going.inActivity(() =>
    endBeforeNext(going, { id: work.id, after }, () => perform(dependencies, work)),
  )
  return ended.catch(() => ({ answer: NO_ANSWER, next: null }))
}

/** The action with which the activity goes on; null: it ends. */
async function findFollowing(
  going: Going,
  progress: Progress | null,
  read: Store['read'],
): Promise<Following | null> {
  if (progress === null) return null
  const { control, at, pairs, most } = progress
  const next = nextAhead(control, at)
  if (next === null) return null
  const { control: begun, work } = beginAhead(next, { level: LEVEL, now: at })
  if (!(await mayBegin(going, { next, work, progress }, read))) return null
  const steps = progress.steps + (work.name === 'callModel' ? 1 : 0)
  return {
    ...{ work, at },
    after: async (answer) => {
      const ended = going.now()
      const done = [...pairs, { id: work.id, at, answer }]
      const changed = applyAhead(begun, next.action, answer, ended)
      return { control: changed, at: ended, pairs: done, steps, most }
    },
  }
}

interface Beginning {
  readonly next: NextAhead
  readonly work: AheadWork
  readonly progress: Progress
}

/** Whether the activity does this action, too. A step that an earlier attempt has begun is finished first, whatever waits. */
async function mayBegin(
  { dependencies, input, signal, began }: Going,
  { next: { limit }, work, progress: { pairs, steps, most } }: Beginning,
  read: Store['read'],
): Promise<boolean> {
  if (signal.aborted) return false
  if (work.name === 'settle') return true
  if (most === 0) return false
  const { startToCloseTimeoutMs: longest } = Context.current().info
  if (performance.now() - began + limit + SLACK > longest || bytesOf(pairs) > PAIR_BYTES) return false
  const { mayRunAhead = () => true } = dependencies
  if (work.name === 'executeTool') return mayRunAhead(work.name)
  const { threadId } = input
  return read(async (db) => {
    if ((await findOperation(db, threadId, work.id)) !== null) return true
    if (steps >= most || !mayRunAhead(work.name)) return false
    if (await isNewsStored(db, { threadId, operation: operationOf(input).id })) return false
    return (await countUndelivered(db, threadId)) === 0
  })
}

async function perform(dependencies: ActivityDependencies, work: AheadWork): Promise<Answer> {
  const { name, input } = work
  switch (name) {
    case 'callModel':
      setHeartbeatDetails({ step: input.step, doing: 'model' })
      return observeStep(dependencies, input, () => callModel(dependencies, input))
    case 'executeTool':
      setHeartbeatDetails({ step: input.step, doing: `tool ${input.name}` })
      return observeCall(dependencies, { activity: ACTIVITIES.executeTool, input }, () =>
        executeTool(dependencies, input),
      )
    case 'settle':
      return observeSettle(dependencies, input, () => settle(dependencies, input))
  }
}

/** The longest beginning that fits into an answer. The rest is in the store, and the workflow asks for it again. */
function fitting(answer: CallModelAnswer, pairs: readonly AheadPair[]): readonly AheadPair[] {
  if (bytesOf(answer) + bytesOf(pairs) <= LIMITS.operationBytes) return pairs
  const isCut = pairs.at(-1)?.answer === NO_ANSWER
  const [last, ...before] = pairs.toReversed().slice(isCut ? 1 : 0)
  return last === undefined ? [] : fitting(answer, [...before.toReversed(), { ...last, answer: NO_ANSWER }])
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
