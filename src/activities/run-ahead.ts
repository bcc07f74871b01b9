/**
 * An activity that goes on after its model call: it stores the end of the run, and with `runAhead` it does the next steps.
 * Owns: how long it goes on.
 * Does not own: what comes next, and how the workflow takes it over (`thread/ahead.ts`).
 * Each action is done by the function that is an activity where the workflow schedules it: the same transactions, rows, events
 * and spans. An action that fails is not in the answer; the workflow schedules it, and its operation continues from its row.
 */
import { setImmediate as takeTurn } from 'node:timers/promises'

import type { AheadPair, CallModelAnswer, CallModelInput } from '../protocol/activities.js'
import { ACTIVITIES, LEVEL } from '../protocol/answer-problem.js'
import { LIMITS } from '../protocol/limits.js'
import type { Plan } from '../protocol/plan.js'
import type { Millis } from '../protocol/time.js'
import { countUndelivered } from '../store/messages/message-writes.js'
import { findOperation } from '../store/operations.js'
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
import { setPrecedent } from './operation.js'
import { loadPlan } from './plan-content.js'
import { settle } from './settle.js'
import { Context, log, setCurrentInput } from './temporal-activity.js'
import { executeTool } from './tool/execute-tool.js'
import { errorFields, readThrown } from './thrown.js'
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
    const answer = await call()
    // After other answers a wait, a person, or another kind of action comes next.
    if (answer.type !== 'answered' && answer.type !== 'end') return answer
    const pairs: AheadPair[] = []
    await goAhead({ dependencies, input, ahead, signal, now, began, pairs }, answer).catch((error: unknown) =>
      log.warn('An activity could not go on by itself.', { ...errorFields(readThrown(error)) }),
    )
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
  /** What it has done so far; it grows. */
  readonly pairs: AheadPair[]
}

async function goAhead(
  going: Going,
  answer: Extract<CallModelAnswer, { readonly type: 'answered' | 'end' }>,
): Promise<void> {
  const { dependencies, input, ahead, now, pairs } = going
  const plan = answer.type === 'answered' ? await planOf(dependencies, input, answer.plan) : null
  const start = controlAhead(input, ahead, answer.plan === undefined ? plan : null)
  if (start.run === null) return
  let at = now()
  let control = applyAhead(start, modelActionOf(input, start.run), answer, at)
  let last = operationOf(input).id
  let steps = 1
  const most = plan?.caps.stepsPerActivity ?? 0
  for (;;) {
    const next = nextAhead(control, at)
    if (next === null) return
    const { control: begun, work } = beginAhead(next, { level: LEVEL, now: at })
    if (!(await mayBegin(going, { next, work, steps, most }))) return
    if (work.name === 'callModel') {
      steps += 1
      // Steps without any wait of their own would keep the event loop from the other threads of this worker.
      await takeTurn()
    }
    setPrecedent({ id: last, run: input.run })
    // The workflow asks for it by an activity of its own, whose failure counts.
    const given = await perform(dependencies, work).catch(() => NO_ANSWER)
    pairs.push({ id: work.id, at, answer: given })
    if (given === NO_ANSWER) return
    at = now()
    control = applyAhead(begun, next.action, given, at)
    last = work.id
  }
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

interface Beginning {
  readonly next: NextAhead
  readonly work: AheadWork
  /** Steps that the activity has begun, its own included. */
  readonly steps: number
  /** Steps of one activity; 0: each call is an activity of its own. */
  readonly most: number
}

/** Whether the activity does this action, too. A step that an earlier attempt has begun is finished first, whatever waits. */
async function mayBegin(
  { dependencies, input, signal, began, pairs }: Going,
  { next: { limit }, work, steps, most }: Beginning,
): Promise<boolean> {
  if (signal.aborted) return false
  if (work.name === 'settle') return true
  if (most === 0) return false
  const { startToCloseTimeoutMs: longest } = Context.current().info
  if (performance.now() - began + limit + SLACK > longest || bytesOf(pairs) > PAIR_BYTES) return false
  const { store, mayRunAhead = () => true } = dependencies
  if (work.name === 'executeTool') return mayRunAhead(work.name)
  const { threadId } = input
  return store.read(async (db) => {
    if ((await findOperation(db, threadId, work.id)) !== null) return true
    if (steps >= most || !mayRunAhead(work.name)) return false
    if (await isNewsStored(db, { threadId, operation: operationOf(input).id })) return false
    return (await countUndelivered(db, threadId)) === 0
  })
}

async function perform(dependencies: ActivityDependencies, work: AheadWork): Promise<AheadPair['answer']> {
  setCurrentInput(work.input)
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
