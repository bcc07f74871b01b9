/**
 * A side's model call: the input of its activity, and the changes that its answer makes to a run.
 *
 * It owns: the drain, how a step begins, and how a prompt becomes active: its immediate subagents start before its first
 * step, also when a message is there already. It does not own: the model call of a prompt that is called as a tool
 * (`call-answers.ts`).
 * Invariant: an answer is applied once; its content is in the store (T4).
 */
import type {
  ActivityInput,
  CallModelAnswer,
  CallModelInput,
  DrainItem,
  EndAnswer,
  PendingAnswer,
} from '../protocol/activities.js'
import { fact } from '../protocol/facts.js'
import { actualSide } from '../protocol/plan.js'
import type { Plan, Side } from '../protocol/plan.js'
import { applyEnd, addUsage, applyWait, enforceStepBudget } from './apply.js'
import type { QueueEntry, ThreadControl } from './control.js'
import { leaveTurn, withFacts, withQueueChange } from './facts.js'
import { removeItems } from './inbox.js'
import { applyOperations } from './operations.js'
import { postponeMessages } from './reset.js'
import { awaitAnswer, beginStep, endRun, forgetCall, leaveStep, restartTurn, setResumed } from './run.js'
import type { CallResponse, ModelCall, Run, Step } from './run.js'
import type { Millis } from '../protocol/time.js'

type Answer = Exclude<CallModelAnswer, { readonly type: 'terminated' }>

interface Called extends ModelCall {
  readonly drain: readonly QueueEntry[]
}

interface Calling extends Called {
  /** As it was when the call was decided. */
  readonly run: Run
}

/** The changes with which a side's model call begins. A message may have made the other side act. */
export function beginModelCall(control: ThreadControl, { run, side, drain }: Calling): ThreadControl {
  return markTaking(forgetRevival(side === run.side ? control : leaveTurn(control, null), drain), drain)
}

function markTaking(control: ThreadControl, drain: readonly QueueEntry[]): ThreadControl {
  if (control.run === null || drain.length === 0) return control
  return { ...control, run: { ...control.run, taking: drain.map(({ id }) => id) } }
}

function clearTaking(control: ThreadControl): ThreadControl {
  if (control.run?.taking === undefined) return control
  const { taking: _taken, ...run } = control.run
  return { ...control, run }
}

/** Phases 1 to 4 of a step: it drains the queue as it is now; items that come during the call wait for the next step. */
export function modelInput(
  control: ThreadControl,
  { run, side, asked, toolFirst, drain, response }: Calling,
): Omit<CallModelInput, keyof ActivityInput> {
  const plan = run.planning === 'known' ? control.plan : null
  return {
    step: run.steps + 1,
    side,
    agent: control.agent,
    plan: plan?.digest ?? null,
    knownPlan: control.plan?.digest ?? null,
    toolFirst,
    frame: null,
    trigger: run.began === 'not_yet' ? run.trigger : null,
    sideStarts: run.turn.kind === 'starting' || side !== run.side,
    asked,
    // A queued tool goes first: the step behind it looks.
    activated: toolFirst || control.activated.includes(side),
    wordless: run.turn.kind === 'starting' && run.turn.wordless && side === run.side,
    drain: drain.flatMap(drainItem),
    ...queueBehind(control, drain),
    start: control.registered ? null : control.start,
    createdAt: control.createdAt,
    ...(run.activations !== undefined && { activations: run.activations }),
    ...(run.idleCalls !== undefined && { idleCalls: run.idleCalls }),
    ...(run.planning === 'moved' && { moved: true }),
    ...(response !== undefined && { response }),
  }
}

/** What the event of the drain says beside the items. */
function queueBehind(
  { queue }: ThreadControl,
  drain: readonly QueueEntry[],
): Pick<CallModelInput, 'waiting' | 'asking'> {
  const waiting = queue.length - drain.length
  const asking = drain.flatMap(({ kind, id }) => (kind === 'continue' || kind === 'variables' ? [id] : []))
  return { ...(waiting > 0 && { waiting }), ...(asking.length > 0 && { asking }) }
}

function drainItem(entry: QueueEntry): DrainItem[] {
  if (entry.kind === 'child_closed') {
    const { kind, id, reference, status } = entry
    return [{ kind, id, reference, status }]
  }
  if (entry.kind === 'group') return [{ kind: 'group', id: entry.id }]
  if (entry.kind !== 'message' && entry.kind !== 'report') return []
  const inline = entry.kind === 'message' ? entry.inline : undefined
  return [{ kind: 'message', id: entry.id, ...(inline === undefined ? {} : { inline }) }]
}

/** Applies the answer of a side's model call, which has drained the entries of `called`. */
export function applyModelAnswer(
  given: ThreadControl,
  called: Called,
  answer: Answer,
  now: Millis,
): ThreadControl {
  const control = clearTaking(given)
  switch (answer.type) {
    case 'activates':
      return applyActivation(control, called.side, answer, now)
    case 'moved':
      return moveModelCall(control, answer.plan)
    case 'wait':
      return applyWait(takeDrain(control, called, answer), answer, createRepeatedCall(called))
    case 'pending':
      return applyPendingModel(takeDrain(control, called, answer), called, answer, now)
    case 'end': {
      const next = continueRun(control, called, answer)
      return called.toolFirst ? skipTool(next, answer, now) : applyEnd(next, answer, now)
    }
    case 'refused':
      // Only the call of a frame can be refused.
      return continueRun(control, called, answer)
    case 'nothing_to_do':
      return applyNothingToDo(adoptPlan(control, called, answer), called, answer, now)
    case 'begun':
      return applyRunBegin(adoptPlan(control, called, answer), answer, now)
    case 'interrupted':
      return applyInterruptedStep(adoptPlan(control, called, answer), answer, now)
    case 'answered':
      return applyStepAnswer(adoptPlan(control, called, answer), called.side, answer, now)
  }
}

/** Removes the drained items, which are in the transcript now. */
function takeDrain(control: ThreadControl, { drain }: Called, answer: Answer): ThreadControl {
  if (control.run === null) return control
  const left = postponeMessages(removeItems(control, drain), drain, answer)
  return { ...left, registered: true, progressed: true }
}

/** The run goes on from this answer: the model call is not repeated. */
function continueRun(control: ThreadControl, called: Called, answer: Answer): ThreadControl {
  const taken = takeDrain(control, called, answer)
  if (taken.run === null) return taken
  const planning = taken.run.planning === 'moved' ? 'unknown' : taken.run.planning
  return {
    ...taken,
    run: { ...forgetCall(taken.run), planning },
    request: hasLooked(answer) ? null : taken.request,
  }
}

function adoptPlan(control: ThreadControl, called: Called, answer: Answer): ThreadControl {
  const next = continueRun(control, called, answer)
  return next.run === null ? next : withPlan(next, called.side, answer)
}

function applyNothingToDo(
  control: ThreadControl,
  called: Called,
  answer: Extract<Answer, { readonly type: 'nothing_to_do' }>,
  now: Millis,
): ThreadControl {
  const { run } = control
  if (run === null) return control
  if (hasBegun(run) || wouldReportNothing(control)) return endRefusedRun(control, called, answer, now)
  // The stop of a run that did nothing parks the thread only if items wait.
  const stopped = control.stopped && control.queue.length > 0
  return applyOperations({ ...control, run: null, stopped }, answer.operations, now)
}

function applyRunBegin(
  control: ThreadControl,
  answer: Extract<Answer, { readonly type: 'begun' }>,
  now: Millis,
): ThreadControl {
  const { run } = control
  if (run === null) return control
  return applyOperations(
    { ...control, run: { ...run, planning: 'known', began: 'with_tool' } },
    answer.operations,
    now,
  )
}

function applyInterruptedStep(
  control: ThreadControl,
  answer: Extract<Answer, { readonly type: 'interrupted' }>,
  now: Millis,
): ThreadControl {
  if (control.run === null) return control
  const run: Run = {
    ...addUsage(control.run, answer.usage),
    planning: 'known',
    stop: control.run.stop ?? 'run',
    turn: restartTurn(control.run.turn),
  }
  return applyOperations({ ...control, run }, answer.operations, now)
}

function applyStepAnswer(
  control: ThreadControl,
  side: Step['side'],
  answer: Extract<Answer, { readonly type: 'answered' }>,
  now: Millis,
): ThreadControl {
  const { run, plan } = control
  if (run === null) return control
  const step = createStep(run, plan === null ? side : actualSide(plan, side), answer)
  const counting: Run = { ...countStep(addUsage(run, answer.usage), step, plan?.caps), planning: 'known' }
  const stepping = { ...control, run: beginStep(counting, step) }
  return enforceStepBudget(applyOperations(stepping, answer.operations, now))
}

/** The model call for an unchanged repetition, which drains nothing. */
function createRepeatedCall({ side, asked, toolFirst, response }: Called): ModelCall {
  return { side, asked, toolFirst, ...(response === undefined ? {} : { response }) }
}

/** A side's model call waits for a response from outside, and is repeated with it. */
function applyPendingModel(
  control: ThreadControl,
  called: Called,
  answer: PendingAnswer,
  now: Millis,
): ThreadControl {
  if (control.run === null) return control
  const { requestId, kind, status, next, plan, usage, operations } = answer
  const request = { requestId, kind, status, next, requestedAt: now }
  const run = awaitAnswer(addUsage(control.run, usage), createRepeatedCall(called), request)
  const waiting = { ...control, progressed: true, plan: plan ?? control.plan, run }
  const answered = answer.answered === true ? respondToModel(waiting, { requestId }) : waiting
  return applyOperations(answered, operations, now)
}

/** Applies the response that a side's model call waits for: the same operation goes on. */
export function respondToModel(control: ThreadControl, response: CallResponse): ThreadControl {
  const { run } = control
  if (run?.phase.kind !== 'pending') return control
  return { ...control, run: setResumed(leaveStep(run, { ...run.phase.call, response }), true) }
}

/** A side's model call is about to drain the whole queue: from now on only later items revive the thread. */
export function forgetRevival(control: ThreadControl, drain: readonly QueueEntry[]): ThreadControl {
  const { run, queue } = control
  if (run?.revives === undefined || drain.length < queue.length) return control
  const { revives: _taken, ...asking } = run
  return { ...control, run: asking }
}

/** The same call is repeated on the task queue of its model. */
function moveModelCall(control: ThreadControl, plan: Plan): ThreadControl {
  if (control.run === null) return control
  return { ...control, plan, progressed: true, run: { ...control.run, planning: 'moved' } }
}

/**
 * The messages that started the run were refused, or its prompt became active and no item asked for a step. The run has begun
 * in the store, with the immediate subagents of its prompt: it goes on with newer items, or ends.
 */
function endRefusedRun(
  control: ThreadControl,
  { drain }: Called,
  answer: Extract<Answer, { readonly type: 'nothing_to_do' }>,
  now: Millis,
): ThreadControl {
  const asked = !drain.every(({ kind }) => kind === 'continue' || kind === 'variables')
  if (asked || wouldReportNothing(control))
    return applyEnd(control, { ...answer, type: 'end', reason: 'hook_blocked', outcome: 'failed' }, now)
  if (control.queue.length > 0) return applyOperations(countIdleCall(control), answer.operations, now)
  return applyEnd(control, { ...answer, type: 'end', reason: 'nothing_to_do', outcome: 'completed' }, now)
}

/** The next model call is of the same step, and must not be answered from the row of this one. */
function countIdleCall(control: ThreadControl): ThreadControl {
  const { run } = control
  return run === null ? control : { ...control, run: { ...run, idleCalls: (run.idleCalls ?? 0) + 1 } }
}

/** Whether the run has a row in the store, which only a settle ends; after a handoff its plan is unknown again. */
function hasBegun({ planning, activations }: Run): boolean {
  return planning === 'known' || activations !== undefined
}

/** T7: a child whose message was refused has nothing to do and would never report, or only for a later one. */
function wouldReportNothing({ start, queue, invocations }: ThreadControl): boolean {
  return start.resumable === false ? queue.length === 0 : invocations.length > 0
}

/** The side's prompt becomes active: nothing was drained, and the same step follows. */
function applyActivation(
  control: ThreadControl,
  side: Step['side'],
  answer: Extract<Answer, { readonly type: 'activates' }>,
  now: Millis,
): ThreadControl {
  if (control.run === null) return control
  const planned = { ...control, plan: answer.plan ?? control.plan, run: addUsage(control.run, answer.usage) }
  const actual = planned.plan === null ? side : actualSide(planned.plan, side)
  return enforceStepBudget(applyOperations(beginActivation(planned, actual, answer), answer.operations, now))
}

/** Whether the step has come past its drain, where it checks the request that blocked the last run. */
function hasLooked(answer: Answer): boolean {
  if (answer.type === 'end') return answer.reason !== 'definition_missing'
  return answer.type === 'answered' || answer.type === 'interrupted'
}

/** A run that cannot begin skips its queued tool with a warning, or the next run would fail in the same way (T3); a blocked run keeps it. */
function skipTool(control: ThreadControl, answer: EndAnswer, now: Millis): ThreadControl {
  const [first] = control.queue
  const ended = applyEnd(control, answer, now)
  const { run } = ended
  if (first?.kind !== 'tool' || answer.outcome === 'blocked' || run?.phase.kind !== 'ending') return ended
  const message = 'A queued tool was skipped, for its run could not begin.'
  const warning = fact('runtime.warning', { code: 'tool_skipped', message }, { toolCallId: first.id })
  const skipped = { ...ended, run: endRun(run, { ...run.phase.ending, tool: first.id }) }
  return withFacts(withQueueChange(removeItems(skipped, [first]), { removed: [first.id] }), warning)
}

function createStep(
  run: Run,
  side: Step['side'],
  answer: Extract<Answer, { readonly type: 'answered' }>,
): Step {
  return {
    number: run.steps + 1,
    side,
    text: answer.text,
    ...(answer.truncated === true && { truncated: true as const }),
    phase: 4,
    calls: answer.calls.map(({ id, name }) => ({ id, name, state: 'open' })),
    outside: false,
    handOff: null,
    forcedTurn: null,
  }
}

function countStep(
  { truncatedAnswers = 0, idleCalls: _before, ...run }: Run,
  step: Step,
  caps: Plan['caps'] | undefined,
): Run {
  return {
    ...run,
    ...(step.truncated === true && { truncatedAnswers: truncatedAnswers + 1 }),
    ...(caps?.toolIterations !== undefined &&
      step.calls.length > 0 && { toolSteps: (run.toolSteps ?? 0) + 1 }),
    side: step.side,
    // A message made the other side act: its turn has no text yet.
    turn: step.side === run.side || run.turn.kind === 'starting' ? run.turn : { ...run.turn, hasText: false },
    began: 'with_step',
    steps: step.number,
    sideSteps: { ...run.sideSteps, [step.side]: run.sideSteps[step.side] + 1 },
  }
}

type Activates = Extract<CallModelAnswer, { readonly type: 'activates' }>

/** The calls of an activation form a step of their own, which drains nothing and is not counted; the model call comes next. */
function beginActivation(control: ThreadControl, side: Side, answer: Activates): ThreadControl {
  if (control.run === null) return control
  const activations = (control.run.activations ?? 0) + 1
  const run: Run = { ...control.run, planning: 'known', activations }
  const step: Step = {
    number: run.steps,
    side,
    text: false,
    phase: 4,
    calls: answer.calls.map(({ id, name, tool }) => ({ id, name, queued: true, tool, state: 'open' })),
    outside: true,
    activates: true,
    handOff: null,
    forcedTurn: null,
  }
  return markActivated({ ...control, registered: true, progressed: true, run: beginStep(run, step) }, side)
}

/** Takes the plan of the answer of a side's model call, and marks the prompt as active where the call came that far. */
function withPlan(control: ThreadControl, side: Side, answer: CallModelAnswer): ThreadControl {
  const plan = 'plan' in answer ? (answer.plan ?? control.plan) : control.plan
  const planned = { ...control, plan }
  // The other answers end before the look for immediate subagents.
  if (answer.type !== 'answered' && answer.type !== 'interrupted') return planned
  return markActivated(planned, plan === null ? side : actualSide(plan, side))
}

/** Marks the prompt of the side as active: its immediate subagents have started. */
function markActivated(control: ThreadControl, side: Side): ThreadControl {
  if (control.activated.includes(side)) return control
  return { ...control, activated: [...control.activated, side].toSorted() }
}
