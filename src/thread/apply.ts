/** What the answers of activities change in a run. T4: an answer is applied once; the store holds what it stands for. */
import type { CallModelAnswer, EndAnswer, WaitAnswer } from '../protocol/activities.js'
import { LIMITS } from '../protocol/limits.js'
import type { ThreadOperation } from '../protocol/operations.js'
import { actualSide } from '../protocol/plan.js'
import type { Plan } from '../protocol/plan.js'
import { isStoreId } from '../protocol/thread-store.js'
import type { StoreAnswer } from '../protocol/thread-store.js'
import { operationsTaken } from './accept-operations.js'
import { activationBegins, withPlan } from './activation.js'
import { callBytes } from './calls.js'
import type { ModelCall, QueueEntry, Run, Step, ThreadControl } from './control.js'
import { withFacts } from './facts.js'
import { drained, removed } from './inbox.js'
import { lateSetAside } from './late-messages.js'
import { applyOperations, isEnding } from './operations.js'
import { used } from './usage.js'

type Answer = Exclude<CallModelAnswer, { readonly type: 'terminated' }>

interface Called extends ModelCall {
  readonly drain: readonly QueueEntry[]
}

/** The answer of a side's model call that had drained these entries. */
export function modelAnswered(
  control: ThreadControl,
  called: Called,
  answer: Answer,
  now: number,
): ThreadControl {
  if (answer.type === 'activates') return activating(control, called.side, answer, now)
  if (answer.type === 'moved') return movedTo(control, answer.plan)
  const { drain } = called
  const left = lateSetAside(drained(control, drain), drain, answer)
  const taken: ThreadControl = { ...left, registered: true, progressed: true }
  if (taken.run === null) return control
  const { side, asked, toolFirst } = called
  if (answer.type === 'wait') return waitAsked(taken, answer, { side, asked, toolFirst })
  const { moved: _moved, ...going } = taken.run
  const run: Run = { ...going, again: null }
  const next: ThreadControl = { ...taken, run, request: hasLooked(answer) ? null : taken.request }
  if (answer.type === 'end') return toolFirst ? toolSkipped(next, answer, now) : runEnded(next, answer, now)
  // Only the call of a frame can be refused.
  if (answer.type === 'refused') return next
  const planned = withPlan(next, side, answer)
  if (answer.type === 'nothing_to_do' && (hasBegun(run) || reportsNothing(planned)))
    return refusedRun(planned, called, answer, now)
  // A stop of a run that did nothing parks only what waits behind it.
  if (answer.type === 'nothing_to_do')
    return applyOperations(
      { ...planned, run: null, stopped: planned.stopped && planned.queue.length > 0 },
      answer.operations,
      now,
    )
  if (answer.type === 'begun')
    return applyOperations(
      { ...planned, run: { ...run, planned: true, begun: true } },
      answer.operations,
      now,
    )
  if (answer.type === 'interrupted')
    return applyOperations(
      {
        ...planned,
        run: { ...used(run, answer.usage), planned: true, stopRequested: true, sideStarts: true },
      },
      answer.operations,
      now,
    )
  const step = stepOf(run, planned.plan === null ? side : actualSide(planned.plan, side), answer)
  const stepping = { ...planned, run: { ...counted(used(run, answer.usage), step), planned: true, step } }
  return withinBudget(applyOperations(stepping, answer.operations, now))
}

/** The same call is made again, where its model is called. */
function movedTo(control: ThreadControl, plan: Plan): ThreadControl {
  if (control.run === null) return control
  return { ...control, plan, progressed: true, run: { ...control.run, moved: true } }
}

/**
 * What the run was started for was refused, or its prompt became active without anybody's having asked for a step: it has
 * begun in the store, with the immediate subagents of its prompt, and takes what came meanwhile or ends.
 */
function refusedRun(
  control: ThreadControl,
  { drain }: Called,
  answer: Extract<Answer, { readonly type: 'nothing_to_do' }>,
  now: number,
): ThreadControl {
  const asked = !drain.every(({ kind }) => kind === 'continue' || kind === 'variables')
  if (asked || reportsNothing(control))
    return runEnded(control, { ...answer, type: 'end', reason: 'hook_blocked', outcome: 'failed' }, now)
  if (control.queue.length > 0) return applyOperations(control, answer.operations, now)
  return runEnded(control, { ...answer, type: 'end', reason: 'nothing_to_do', outcome: 'completed' }, now)
}

/** In the store: it has its row, which only a settle ends. After a handoff its plan is another one. */
function hasBegun({ planned, activations }: Run): boolean {
  return planned || activations !== undefined
}

/** T7: a child whose message was refused has nothing to do and would never report, or only for a later one. */
function reportsNothing({ start, queue, invocations }: ThreadControl): boolean {
  return start.resumable === false ? queue.length === 0 : invocations.length > 0
}

/** The side's prompt becomes active: nothing was drained, and the same step follows. */
function activating(
  control: ThreadControl,
  side: Step['side'],
  answer: Extract<Answer, { readonly type: 'activates' }>,
  now: number,
): ThreadControl {
  if (control.run === null) return control
  const planned = { ...control, plan: answer.plan ?? control.plan, run: used(control.run, answer.usage) }
  const actual = planned.plan === null ? side : actualSide(planned.plan, side)
  return withinBudget(applyOperations(activationBegins(planned, actual, answer), answer.operations, now))
}

/** Whether the step has looked for what the last run was blocked for: it comes behind the drain. */
function hasLooked(answer: Answer): boolean {
  if (answer.type === 'end') return answer.reason !== 'definition_missing'
  return answer.type === 'answered' || answer.type === 'interrupted'
}

/** A run that cannot begin would begin with the same tool again: it ends with it, visibly (T3); a blocked one waits. */
function toolSkipped(control: ThreadControl, answer: EndAnswer, now: number): ThreadControl {
  const [first] = control.queue
  const ended = runEnded(control, answer, now)
  const { run } = ended
  if (first?.kind !== 'tool' || answer.outcome === 'blocked' || run === null || run.ending === null)
    return ended
  const message = 'A queued tool was skipped, for its run could not begin.'
  const warning = { type: 'runtime.warning', scope: { toolCallId: first.id } }
  const skipped = { ...ended, run: { ...run, ending: { ...run.ending, tool: first.id } } }
  return withFacts(drained(skipped, [first]), { ...warning, payload: { code: 'tool_skipped', message } })
}

/** An activity asked to be called again later; a side's model call is made again as it was. */
export function waitAsked(
  control: ThreadControl,
  { until, plan, usage }: WaitAnswer,
  again: ModelCall | null,
): ThreadControl {
  const { run } = control
  if (run === null) return control
  const waiting = { ...used(run, usage), waitUntil: until, again }
  return { ...control, progressed: true, plan: plan ?? control.plan, run: waiting }
}

/** The time has come, or nobody waits for it any more. */
export function waitOver(control: ThreadControl): ThreadControl {
  return control.run === null
    ? control
    : { ...control, run: { ...control.run, waitUntil: null, resumed: true } }
}

/** The activity that was called again has answered. */
export function resumedAnswered(control: ThreadControl): ThreadControl {
  return control.run?.resumed === true ? { ...control, run: { ...control.run, resumed: false } } : control
}

/** An activity ended the run. */
export function runEnded(control: ThreadControl, answer: EndAnswer, now: number): ThreadControl {
  if (control.run === null) return control
  const { reason, outcome, request } = answer
  const ending = { reason, outcome, sessionCall: null, ...(request === undefined ? {} : { request }) }
  const run = { ...used(control.run, answer.usage), ending }
  // They meet a run that ends: a tool that they queue runs no more.
  return applyOperations({ ...control, progressed: true, run }, answer.operations, now)
}

/** An activity failed for good: the run ends blocked, the thread stays usable. */
export function activityFailed(control: ThreadControl): ThreadControl {
  return runEnded(control, { type: 'end', reason: 'blocked', outcome: 'blocked' }, 0)
}

export interface RanEffect {
  readonly id: string
  readonly operations?: readonly ThreadOperation[] | undefined
  /** Tools that it queued wait in the inbox also where its run was told to end meanwhile, which gives them no result. */
  readonly keepsTools: boolean
}

/** A due effect was carried out. */
export function effectRan(control: ThreadControl, effect: RanEffect, now: number): ThreadControl {
  const { id, operations = [], keepsTools } = effect
  const next = { ...removed(control, 'effect', id), registered: true, progressed: true }
  return keepsTools ? operationsTaken(next, operations, now) : applyOperations(next, operations, now)
}

/** Whether that makes a difference. */
export function queuesAtEnd({ run }: ThreadControl, operations: readonly ThreadOperation[] = []): boolean {
  return run !== null && isEnding(run) && operations.some(({ kind }) => kind === 'queue_tool')
}

/** A due effect could not be carried out for good: it is given up, and the next settle tells so (T3). */
export function effectGivenUp(control: ThreadControl, effectId: string): ThreadControl {
  const givenUp = [...control.givenUp, effectId].slice(-LIMITS.givenUpEffects)
  return { ...removed(control, 'effect', effectId), givenUp, progressed: true }
}

/** The start named no store: the thread belongs to that of the worker which has carried out its first activity. */
export function storeFound(control: ThreadControl, { store }: StoreAnswer): ThreadControl {
  if (control.start.store !== undefined || !isStoreId(store)) return control
  return { ...control, start: { ...control.start, store } }
}

/** An activity found the thread's row terminated. */
export function terminationFound(control: ThreadControl): ThreadControl {
  return { ...control, terminating: true, registered: true, progressed: true }
}

/** A step whose calls take more than their share of the carried state ends its run, which gives them their results. */
export function withinBudget(control: ThreadControl): ThreadControl {
  const { run } = control
  if (run?.step == null || run.ending !== null) return control
  if (callBytes(run.step.calls) <= LIMITS.stepBytes) return control
  return { ...control, run: { ...run, ending: { reason: 'hard_cap', outcome: 'failed', sessionCall: null } } }
}

function stepOf(run: Run, side: Step['side'], answer: Extract<Answer, { readonly type: 'answered' }>): Step {
  return {
    number: run.steps + 1,
    side,
    text: answer.text,
    phase: 4,
    calls: answer.calls.map(({ id, name }) => ({ id, name, state: 'open' })),
    outside: false,
    handOff: null,
    forcedTurn: null,
  }
}

function counted(run: Run, step: Step): Run {
  return {
    ...run,
    side: step.side,
    // A message made the other side act: its turn has no text yet.
    turnHasText: step.side === run.side && run.turnHasText,
    steps: step.number,
    sideSteps: { ...run.sideSteps, [step.side]: run.sideSteps[step.side] + 1 },
  }
}
