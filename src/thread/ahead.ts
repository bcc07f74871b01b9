/**
 * Work that an activity does ahead of its workflow: after its model call it goes on with the next action, and the workflow
 * applies all of it in one task.
 *
 * It owns: which actions an activity may do by itself, the part of the control state that it gets, and how the workflow applies
 * what it has done. It does not own: what comes next (`advance.ts`, `next-action.ts`), the inputs and answers of the actions
 * (`model-answers.ts`, `call-answers.ts`, `settling.ts`), and when an activity stops going on (`activities/run-ahead.ts`).
 * Invariants: activity and workflow decide by the same functions on the same state, so the actions are those that the workflow
 * would have chosen if nothing had come meanwhile; what came meanwhile is applied behind them. Any prefix of the actions is
 * correct, since each is in the store under its operation (T4): the workflow drops what is not its own next action (T10).
 */
import type {
  ActivityInput,
  Ahead,
  AheadPair,
  AheadRun,
  CallModelAnswer,
  CallModelInput,
  ExecuteToolAnswer,
  ExecuteToolInput,
} from '../protocol/activities.js'
import { answerProblem } from '../protocol/answer-problem.js'
import type { SettleAnswer, SettleInput } from '../protocol/end-activities.js'
import { modelOperationId, settleOperationId } from '../protocol/ids.js'
import { LIMITS } from '../protocol/limits.js'
import type { Plan, Side } from '../protocol/plan.js'
import type { Millis } from '../protocol/time.js'
import { advance } from './advance.js'
import { acknowledge, applyTermination } from './apply.js'
import { applyToolAnswer, toolInput, toolTimeout } from './call-answers.js'
import { initialControl } from './continue-as-new.js'
import type { ThreadControl } from './control.js'
import { factsToSend, keepUnansweredFacts, withWarning } from './facts.js'
import { putFirst } from './inbox.js'
import { applyModelAnswer, beginModelCall, modelInput } from './model-answers.js'
import { nextAction, nextDueAt } from './next-action.js'
import type { Action } from './next-action.js'
import { createRun } from './run.js'
import type { Run, Turn } from './run.js'
import { applySettled, interruptStep, listInterruptedTools, settleInput } from './settling.js'
import { taskQueueOf } from './snapshot.js'

/**
 * The version of all that decides in this folder. It grows with each change by which the same answers lead to other actions or
 * other inputs: a worker of another version does one action at a time then.
 */
export const RULES = 2

/** In the place of an answer: the last action has begun, and the workflow asks for it again. */
export const NO_ANSWER = { type: 'no_answer' } as const

type ModelAction = Extract<Action, { readonly kind: 'callModel' }>

/** An action that an activity can do by itself. */
export type AheadAction = ModelAction | Extract<Action, { readonly kind: 'executeTool' | 'settle' }>

/** The activity of such an action, with its whole input. */
export type AheadWork =
  | { readonly name: 'callModel'; readonly id: string; readonly input: CallModelInput }
  | { readonly name: 'executeTool'; readonly id: string; readonly input: ExecuteToolInput }
  | { readonly name: 'settle'; readonly id: string; readonly input: SettleInput }

/** The next action that an activity may do by itself, and the state in which it begins. */
export interface NextAhead {
  readonly control: ThreadControl
  readonly action: AheadAction
  /** The longest time that its own limit gives it, milliseconds. */
  readonly limit: number
}

/** What the activity of this model call needs to go on by itself; undefined where it must not. The call has begun. */
export function aheadOf(control: ThreadControl, action: ModelAction): Ahead | undefined {
  const { toolFirst, response, drain } = action
  const { run } = control
  if (run === null || !isPlain(control) || toolFirst || response !== undefined) return undefined
  if (drain.length < control.queue.length || taskQueueOf(control, action) !== null) return undefined
  // A call that is repeated as it was goes on under its own operation, and stores no facts.
  if (run.phase.kind !== 'between_steps' || run.phase.call !== null || run.phase.resumed) return undefined
  return { rules: RULES, settles: control.settles, run: packRun(run, control, otherSide(action.side)) }
}

/** Nothing of the thread needs another action than those of its run, and the state is small enough to be sent. */
function isPlain(control: ThreadControl): boolean {
  const { start, run, closing, terminating, stopped, report, request, postponed } = control
  if (run === null || run.stop !== null || run.unacknowledged !== undefined) return false
  if (start.parent !== undefined || start.resumable === false) return false
  if (terminating || stopped || closing !== null) return false
  if (report !== null || request !== null || postponed !== null) return false
  const { children, earlyReports, outbound, invocations, effects, givenUp, unansweredFacts } = control
  const lists = [children, earlyReports, outbound, invocations, effects, givenUp, unansweredFacts]
  return lists.every(({ length }) => length === 0) && control.factsDropped === 0
}

const TURNS: readonly Turn[] = [
  { kind: 'starting', wordless: false },
  { kind: 'starting', wordless: true },
  { kind: 'under_way', hasText: false },
  { kind: 'under_way', hasText: true },
]

function otherSide(side: Side): Side {
  return side === 'a' ? 'b' : 'a'
}

function packRun(run: Run, { activated, itemsNumbered }: ThreadControl, other: Side): AheadRun {
  const { side, sideSteps, sessionTurns, turn, usage, toolSteps, truncatedAnswers, repeatedError } = run
  const number = turn.kind === 'starting' ? (turn.wordless ? 1 : 0) : turn.hasText ? 3 : 2
  const { inputTokens, outputTokens, cachedInputTokens, cost } = usage
  const rare: AheadRun[5] = {
    ...(run.began === 'with_tool' && { withTool: true as const }),
    ...(toolSteps !== undefined && { toolSteps }),
    ...(truncatedAnswers !== undefined && { truncatedAnswers }),
    ...(repeatedError !== null && { repeatedError }),
    ...(activated.includes(other) && { otherActive: true as const }),
    ...(itemsNumbered > 0 && { items: itemsNumbered }),
  }
  const spent = [inputTokens, outputTokens, cachedInputTokens, cost] as const
  const usual = [side, [sideSteps.a, sideSteps.b], sessionTurns, number, spent] as const
  return Object.keys(rare).length === 0 ? usual : [...usual, rare]
}

/** The state in which the workflow asked for this model call, as far as its activity needs it. `plan`: that of `knownPlan`. */
export function controlAhead(input: CallModelInput, ahead: Ahead, plan: Plan | null): ThreadControl {
  const { threadId, store, agent, createdAt, run: number, side, activated } = input
  const [, , , , , rare] = ahead.run
  const start = { agent, ...(store !== undefined && { store }) }
  return {
    ...initialControl(threadId, start, createdAt),
    plan,
    registered: input.start === null,
    runs: number,
    settles: ahead.settles,
    itemsNumbered: rare?.items ?? 0,
    activated: [
      ...(activated ? [side] : []),
      ...(rare?.otherActive === true ? [otherSide(side)] : []),
    ].toSorted(),
    run: unpackRun(input, ahead.run),
  }
}

function unpackRun(input: CallModelInput, packed: AheadRun): Run {
  const { run: number, step, plan, moved, trigger, activations, idleCalls } = input
  const [side, [a, b], sessionTurns, turn, [inputTokens, outputTokens, cachedInputTokens, cost], rare] =
    packed
  const { withTool, toolSteps, truncatedAnswers, repeatedError } = rare ?? {}
  return {
    ...createRun({ number, trigger: trigger ?? '', stop: null }),
    side,
    began: trigger !== null ? 'not_yet' : withTool === true ? 'with_tool' : 'with_step',
    steps: step - 1,
    sideSteps: { a, b },
    sessionTurns,
    usage: { inputTokens, outputTokens, cachedInputTokens, cost },
    planning: plan !== null ? 'known' : moved === true ? 'moved' : 'unknown',
    turn: TURNS[turn] ?? { kind: 'starting', wordless: false },
    repeatedError: repeatedError ?? null,
    ...(toolSteps !== undefined && { toolSteps }),
    ...(truncatedAnswers !== undefined && { truncatedAnswers }),
    ...(activations !== undefined && { activations }),
    ...(idleCalls !== undefined && { idleCalls }),
  }
}

/** The model call of this input as the workflow decided it; the items that it drains are not needed any more. */
export function modelActionOf({ side, asked, toolFirst }: CallModelInput, run: Run): ModelAction {
  return { kind: 'callModel', run, side, asked, toolFirst, drain: [] }
}

/** The next action, if an activity may do it by itself; null ends its work. `now`: the workflow's time, as the activity knows it. */
export function nextAhead(control: ThreadControl, now: Millis): NextAhead | null {
  if (!isPlain(control)) return null
  const dueAt = nextDueAt(control, now)
  if (dueAt !== null && dueAt <= now) return null
  const next = advance(control)
  const action = isPlain(next) ? nextAction(next) : null
  if (action === null || taskQueueOf(next, action) !== null) return null
  switch (action.kind) {
    case 'callModel':
      return next.run?.planning === 'known' && next.queue.length === 0 && action.response === undefined
        ? { control: next, action, limit: LIMITS.modelCall }
        : null
    case 'executeTool':
      return isPlainCall(action) ? { control: next, action, limit: toolTimeout(action) } : null
    case 'settle':
      return next.queue.length === 0 && isPlainEnd(action) ? { control: next, action, limit: 0 } : null
    default:
      return null
  }
}

/** A call that the model made, and that nobody has worked at. */
function isPlainCall({ call, depth, step }: Extract<Action, { readonly kind: 'executeTool' }>): boolean {
  if (depth > 0 || step.outside || call.queued === true || call.tool !== undefined) return false
  return call.state === 'open' && call.response === undefined
}

/** The end of a run that ended by itself, of a thread that stays open. */
function isPlainEnd({ ending, close }: Extract<Action, { readonly kind: 'settle' }>): boolean {
  if (ending === null || close !== null || ending.failure !== undefined || ending.tool !== undefined)
    return false
  return ending.outcome === 'completed' || ending.outcome === 'failed'
}

/** The action with its input. `control` changes as it does where the workflow schedules the activity. */
export function beginAhead(
  { control, action }: Pick<NextAhead, 'control' | 'action'>,
  { level, now }: { readonly level: number; readonly now: Millis },
): { readonly control: ThreadControl; readonly work: AheadWork } {
  const begun = beginAction(control, action, now)
  const id = operationIdOf(control, action)
  const base: ActivityInput = {
    level,
    threadId: control.threadId,
    ...(control.start.store !== undefined && { store: control.start.store }),
    now,
    run: control.run?.number ?? control.runs,
    ...factsToSend(begun),
  }
  switch (action.kind) {
    case 'callModel':
      return {
        control: begun,
        work: { name: 'callModel', id, input: { ...base, ...modelInput(begun, action) } },
      }
    case 'executeTool':
      return {
        control: begun,
        work: { name: 'executeTool', id, input: { ...base, ...toolInput(begun, action) } },
      }
    case 'settle': {
      const tools = listInterruptedTools(control, action.ending)
      const ends = { ...action, tools }
      return {
        control: begun,
        work: { name: 'settle', id, input: { ...base, ...settleInput(begun, ends, now) } },
      }
    }
  }
}

/** What an action changes before its activity is scheduled. */
function beginAction(control: ThreadControl, action: AheadAction, now: Millis): ThreadControl {
  switch (action.kind) {
    case 'callModel':
      return beginModelCall(control, action)
    case 'executeTool':
      return control
    case 'settle':
      return interruptStep(control, action.ending, now)
  }
}

/** The operation of the action: nothing else of the thread has this id. */
function operationIdOf({ settles }: ThreadControl, action: AheadAction): string {
  switch (action.kind) {
    case 'callModel': {
      const { number: run, steps, idleCalls } = action.run
      return modelOperationId({ run, step: steps + 1, idleCalls })
    }
    case 'executeTool':
      return action.call.id
    case 'settle':
      return settleOperationId(settles + 1)
  }
}

/** Applies the answer of an action that has begun in this state. */
export function applyAhead(
  begun: ThreadControl,
  action: AheadAction,
  answer: AheadPair['answer'],
  now: Millis,
): ThreadControl {
  const isOfStep = action.kind !== 'settle'
  const known = acknowledge(begun, begun, { answer, storesFacts: true, isOfStep })
  // The guard of answers has checked it, or it is the activity's own.
  switch (action.kind) {
    case 'callModel': {
      const given = answer as CallModelAnswer
      if (given.type === 'terminated') return applyTermination(known)
      return applyModelAnswer(known, action, given, now)
    }
    case 'executeTool':
      return applyToolAnswer(known, action.call.id, answer as ExecuteToolAnswer, now)
    case 'settle': {
      const { ending, close } = action
      return applySettled(known, { ending, close, sent: begun }, answer as SettleAnswer, now)
    }
  }
}

/**
 * Whether the thread has come to rest with something to tell that came meanwhile: no activity would store it before the next
 * item. The length of an empty queue is no news.
 */
export function restsWithFacts({ run, queue, facts, terminating, closing }: ThreadControl): boolean {
  if (run !== null || queue.length > 0 || terminating || closing !== null) return false
  return facts.some(({ type }) => type !== 'queue.changed')
}

interface DoneAhead {
  /** The state as the workflow has it: with what came meanwhile, and without the answer. */
  readonly waiting: ThreadControl
  /** What came meanwhile, in order. */
  readonly received: readonly ((control: ThreadControl) => ThreadControl)[]
  /** The state in which its first action began. */
  readonly begun: ThreadControl
  readonly action: ModelAction
  readonly answer: CallModelAnswer
  readonly pairs: readonly AheadPair[]
}

/**
 * Applies the answer of an activity and what it has done ahead, and then what came meanwhile, of which the activity knew nothing.
 * Items that came stay before those that its tools have queued (T3).
 */
export function applyAllAhead({ waiting, received, ...done }: DoneAhead, now: Millis): ThreadControl {
  const joined = received.reduce((control, change) => change(control), applyDone(done, now))
  return putFirst(joined, waiting.queue)
}

function applyDone(
  { begun, action, answer, pairs }: Omit<DoneAhead, 'waiting' | 'received'>,
  now: Millis,
): ThreadControl {
  let control = markAhead(applyAhead(begun, action, answer, pairs[0]?.at ?? now))
  for (const [index, pair] of pairs.entries()) {
    const next = advance(control)
    const expected = nextAction(next)
    if (!isAhead(expected) || operationIdOf(next, expected) !== pair.id) return dropAhead(next, pair.at)
    const beginning = beginAction(next, expected, pair.at)
    if (pair.answer.type === NO_ANSWER.type)
      return keepFacts(expected.kind === 'callModel' ? beginning : next, pair.at)
    const asked = { knownPlan: next.plan?.digest ?? null }
    if (answerProblem(expected.kind, pair.answer, asked) !== undefined) return dropAhead(next, pair.at)
    control = applyAhead(beginning, expected, pair.answer, pairs[index + 1]?.at ?? now)
  }
  return control
}

/** The activity of the run's model call may have done more than it has answered. */
export function markAhead(control: ThreadControl): ThreadControl {
  return control.run === null ? control : { ...control, run: { ...control.run, wentAhead: true } }
}

/** Each has the name of its activity. */
const KINDS: ReadonlySet<string> = new Set<AheadAction['kind']>(['callModel', 'executeTool', 'settle'])

function isAhead(action: Action): action is AheadAction {
  return KINDS.has(action.kind)
}

/** The workflow does these actions itself: their operations answer from their rows. */
function dropAhead(control: ThreadControl, at: Millis): ThreadControl {
  const message = 'What an activity did ahead is not what the thread does next; the thread does it by itself.'
  return withWarning(keepFacts(control, at), 'ahead_dropped', message)
}

/** Keeps the facts that wait as unanswered: the action that began at this time may have stored them. */
function keepFacts(control: ThreadControl, at: Millis): ThreadControl {
  return keepUnansweredFacts(control, control, at)
}
