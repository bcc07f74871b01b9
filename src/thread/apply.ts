/** What the answers of activities change. T4: an answer is applied once; the store holds what it stands for. */
import type {
  CallModelAnswer,
  EndAnswer,
  PrepareChildAnswer,
  ResultAnswer,
  Usage,
} from '../protocol/activities.js'
import { LIMITS } from '../protocol/limits.js'
import { actualSide } from '../protocol/plan.js'
import type { Side } from '../protocol/plan.js'
import type { Call, OwedChild, QueueEntry, Run, Step, ThreadControl } from './control.js'
import { drained, enqueue } from './inbox.js'

/** The answer of a model call that had drained these entries. */
export function modelAnswered(
  control: ThreadControl,
  call: { readonly side: Side; readonly drain: readonly QueueEntry[] },
  answer: Exclude<CallModelAnswer, { readonly type: 'terminated' }>,
): ThreadControl {
  const { run } = control
  if (run === null) return control
  const next: ThreadControl = { ...drained(control, call.drain), registered: true, progressed: true }
  if (answer.type === 'end') return { ...next, run: ended(run, answer) }
  const planned: ThreadControl = { ...next, plan: answer.plan ?? next.plan }
  // A stop of a run that did nothing parks only what waits behind it.
  if (answer.type === 'nothing_to_do')
    return { ...planned, run: null, stopped: planned.stopped && planned.queue.length > 0 }
  if (answer.type === 'begun' || answer.type === 'wait') return planned
  if (answer.type === 'interrupted')
    return { ...planned, run: { ...run, planned: true, stopRequested: true, sideStarts: true } }
  const step: Step = {
    number: run.steps + 1,
    side: planned.plan === null ? call.side : actualSide(planned.plan, call.side),
    text: answer.text,
    phase: 4,
    calls: answer.calls.map(({ id, name }) => ({ id, name, state: 'open' })),
  }
  return { ...planned, run: { ...counted(run, step, answer.usage), planned: true, step } }
}

/** The result of a call; messages that it queued are items from now on. */
export function callAnswered(
  control: ThreadControl,
  callId: string,
  answer: ResultAnswer,
  now: number,
): ThreadControl {
  const { run } = control
  if (run?.step == null) return control
  const done = replaceCall(run.step, callId, (call) => ({
    id: call.id,
    name: call.name,
    state: 'done',
    outcome: answer.outcome,
  }))
  const { operations = [] } = answer
  const last = done.calls.every((call) => call.state === 'done')
  const step: Step = { ...done, phase: last ? 6 : 5 }
  let next: ThreadControl = {
    ...control,
    progressed: true,
    terminating: control.terminating || operations.some(({ kind }) => kind === 'terminate'),
    run: { ...run, step, repeatedError: repeatedError(run, answer) },
  }
  for (const operation of operations) {
    if (operation.kind !== 'queue_message') continue
    const { id, role } = operation
    next = enqueue(next, { kind: 'message', id, role, queuedAt: now }, false)
  }
  return next
}

/** A child's rows exist: from now on it is owed, and it is to be started (T7). */
export function childPrepared(
  control: ThreadControl,
  callId: string,
  answer: Extract<PrepareChildAnswer, { readonly type: 'child' }>,
  now: number,
): ThreadControl {
  const { reference, agent, messageId } = answer
  const changed = changeCall(control, callId, ({ id, name }) => ({
    id,
    name,
    state: 'prepared',
    reference,
    agent,
    messageId,
  }))
  const { run } = changed
  if (run?.step == null) return control
  const owed: OwedChild = {
    reference,
    callId,
    observed: false,
    checks: 0,
    nextCheckAt: now + LIMITS.childCheckFirst,
  }
  return {
    ...changed,
    // Its activity has marked the phase.
    run: { ...run, step: { ...run.step, phase: 5 } },
    children: [...changed.children, owed],
    childrenInAll: changed.childrenInAll + 1,
    progressed: true,
  }
}

/** An activity ended the run, or could not be carried out for good. */
export function runEnded(control: ThreadControl, answer: EndAnswer): ThreadControl {
  return control.run === null ? control : { ...control, progressed: true, run: ended(control.run, answer) }
}

/** An activity failed for good: the run ends blocked, the thread stays usable. */
export function activityFailed(control: ThreadControl): ThreadControl {
  return runEnded(control, { type: 'end', reason: 'blocked', outcome: 'blocked' })
}

/** An activity found the thread's row terminated. */
export function terminationFound(control: ThreadControl): ThreadControl {
  return { ...control, terminating: true, registered: true, progressed: true }
}

export function changeCall(
  control: ThreadControl,
  callId: string,
  change: (call: Call) => Call,
): ThreadControl {
  const { run } = control
  if (run?.step == null) return control
  return { ...control, run: { ...run, step: replaceCall(run.step, callId, change) } }
}

function replaceCall(step: Step, callId: string, change: (call: Call) => Call): Step {
  return { ...step, calls: step.calls.map((call) => (call.id === callId ? change(call) : call)) }
}

function ended(run: Run, answer: EndAnswer): Run {
  const { reason, outcome } = answer
  const usage = answer.usage === undefined ? run.usage : sum(run.usage, answer.usage)
  return { ...run, usage, ending: { reason, outcome, sessionCall: null } }
}

function counted(run: Run, step: Step, usage: Usage): Run {
  return {
    ...run,
    side: step.side,
    // A message made the other side act: its turn has no text yet.
    turnHasText: step.side === run.side && run.turnHasText,
    steps: step.number,
    sideSteps: { ...run.sideSteps, [step.side]: run.sideSteps[step.side] + 1 },
    usage: sum(run.usage, usage),
  }
}

function sum(left: Usage, right: Usage): Usage {
  return {
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    cachedInputTokens: left.cachedInputTokens + right.cachedInputTokens,
    cost: left.cost === null || right.cost === null ? null : left.cost + right.cost,
  }
}

function repeatedError(run: Run, answer: ResultAnswer): Run['repeatedError'] {
  if (answer.errorDigest === undefined) return null
  const same = run.repeatedError?.digest === answer.errorDigest
  return { digest: answer.errorDigest, count: same ? (run.repeatedError?.count ?? 0) + 1 : 1 }
}
