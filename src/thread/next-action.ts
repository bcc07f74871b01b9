/**
 * The next action of the workflow: for a call, for a run, for a thread that ends; and the times at which something comes due.
 *
 * It owns: the order of actions. It does not own: how an action is carried out (`workflows/`).
 * Invariants: it is called only when nothing is in flight (T1), after `advance`. At the end of a run and of a thread the
 * order is: report into the parent's store, settle, announce the report, cancel the children, close (T7, T8). By the time the
 * parent gets the report, the end is stored.
 */
import type { Completion, Frame } from '../protocol/activities.js'
import type { ThreadClose } from '../protocol/end-activities.js'
import { LIMITS } from '../protocol/limits.js'
import type { ChildReport } from '../protocol/messages.js'
import { sidePlanOf, toolPlanOf } from '../protocol/plan.js'
import type { Side, ToolPlan } from '../protocol/plan.js'
import { planOf } from './advance.js'
import { expireRequests, nextExpiryOfRequest } from './call-answers.js'
import { findCallInFlight, listChildrenToStop } from './calls.js'
import { listChildrenToCancel } from './child-calls.js'
import { listClosedChildren, nextDeferredAction, markExpiredDeferred, nextExpiryAt } from './children.js'
import type { DeferredAction } from './children.js'
import type { Closing, QueueEntry, OutboundSignal, ThreadControl } from './control.js'
import { listDrainable } from './inbox.js'
import { queueDueEffects, nextEffectAt } from './operations.js'
import { createAnnouncement, reportOfClosing, reportOfIdle, reportOfRun } from './reports.js'
import type { DueReport } from './reports.js'
import { endingOf, stepOf, workOf } from './run.js'
import type { Call, CallIn, CallWork, ChildWait, Ending, ModelCall, Run, Step } from './run.js'
import type { Millis } from '../protocol/time.js'

export type Action =
  | { readonly kind: 'wait' }
  | { readonly kind: 'waitUntil'; readonly until: Millis }
  | (ModelCall & {
      readonly kind: 'callModel'
      readonly run: Run
      readonly drain: readonly QueueEntry[]
    })
  | CallAction
  | ChildAction
  | DeferredAction
  | {
      readonly kind: 'stopChildren'
      readonly call: CallIn<'waiting'>
      readonly references: readonly string[]
    }
  /** A side's model call waits for an answer from outside. */
  | { readonly kind: 'awaitModel'; readonly side: Side }
  | { readonly kind: 'runEffect'; readonly effectId: string }
  | { readonly kind: 'sendOutbound'; readonly signal: OutboundSignal }
  | { readonly kind: 'deliverReport'; readonly due: DueReport }
  | { readonly kind: 'announceReport'; readonly report: ChildReport }
  | { readonly kind: 'settle'; readonly ending: Ending | null; readonly close: ThreadClose | null }
  | { readonly kind: 'cancelChild'; readonly reference: string }
  | { readonly kind: 'close'; readonly closing: Closing }

export function nextAction(control: ThreadControl): Action {
  const child = childAction(findCallInFlight(stepOf(control.run)?.calls ?? [])?.call)
  if (child !== null) return child
  const [signal] = control.outbound
  if (signal !== undefined) return { kind: 'sendOutbound', signal }
  const ending = endingOf(control)
  const close = closeOf(control, ending)
  if (close !== null) return closingAction(control, ending, close)
  const deferred = nextDeferredAction(control)
  if (deferred !== null) return deferred
  const { run } = control
  if (run === null)
    return idleAction(control) ?? effectAction(control) ?? closedChildrenAction(control) ?? { kind: 'wait' }
  if (ending !== null) return forwardStopAction(run) ?? runEndAction(control, ending)
  return run.phase.kind === 'waiting'
    ? { kind: 'waitUntil', until: run.phase.until }
    : workAction(control, run)
}

/** The work of a run that is not ending; for a waiting run, the work that it waits to repeat. */
export function workAction(control: ThreadControl, run: Run): Action {
  if (run.phase.kind === 'pending') return { kind: 'awaitModel', side: run.phase.call.side }
  const work = workOf(run)
  if (work.kind === 'stepping') return callAction(control, run, work.step)
  if (work.call !== null) return { kind: 'callModel', run, ...work.call, drain: [] }
  return effectAction(control) ?? closedChildrenAction(control) ?? modelAction(control, run)
}

function closeOf(control: ThreadControl, ending: Ending | null): ThreadClose | null {
  if (control.closing !== null) return control.closing
  if (control.terminating) return { outcome: 'terminated', reason: 'terminated' }
  if (ending === null || control.start.resumable !== false) return null
  return { outcome: ending.outcome === 'completed' ? 'completed' : 'failed', reason: ending.reason }
}

/** A due effect waits behind the stop flag as every item does. */
function effectAction({ queue: [first], stopped }: ThreadControl): Action | null {
  return first?.kind === 'effect' && !stopped ? { kind: 'runEffect', effectId: first.id } : null
}

/** Stores the closes of idle children before the next model call lists the registry. */
function closedChildrenAction(control: ThreadControl): Action | null {
  return listClosedChildren(control).length > 0 ? { kind: 'settle', ending: null, close: null } : null
}

/** An interrupt reaches the children that a call waits for; their later reports are ordinary items. */
function forwardStopAction(run: Run): Action | null {
  const call = findCallInFlight(stepOf(run)?.calls ?? [])?.call
  if (run.stop !== 'run_and_children' || call?.state !== 'waiting') return null
  const references = listChildrenToStop(call)
  return references.length === 0 ? null : { kind: 'stopChildren', call, references }
}

function modelAction(control: ThreadControl, run: Run): Action {
  // A run begins once: after a handoff the new agent's step finds the plan.
  const toolFirst = control.queue[0]?.kind === 'tool' && run.planning !== 'known' && run.began === 'not_yet'
  const drain = listDrainable(control)
  const asks = drain.some(({ kind }) => kind === 'continue' || kind === 'variables')
  const asked = asks || run.began === 'with_tool'
  return { kind: 'callModel', run, side: actingSide(control, run, drain), asked, toolFirst, drain }
}

/** In a conversation of two agents the first message of a batch decides who acts. */
function actingSide(control: ThreadControl, run: Run, [first]: readonly QueueEntry[]): Side {
  if (control.plan !== null && control.plan.type === 'ai_human') return 'a'
  if (first === undefined || first.kind === 'continue' || first.kind === 'variables') return run.side
  return first.kind === 'message' && first.role === 'assistant' ? 'b' : 'a'
}

type CallAction =
  | (CallWork & { readonly kind: 'callPrompt'; readonly frame: Frame })
  | (CallWork & { readonly kind: 'executeTool' })
  | (CallWork & { readonly kind: 'prepareChild' | 'prepareMessage' })
  | (CallWork & { readonly kind: 'completeCall'; readonly by: Completion })
  | { readonly kind: 'awaitChildren'; readonly call: CallIn<'waiting'> }
  | { readonly kind: 'awaitAnswer'; readonly call: CallIn<'pending'> }
  | { readonly kind: 'runRemote'; readonly call: CallIn<'remote'> }

/** Actions that a call needs even if its run is ending. */
type ChildAction =
  | { readonly kind: 'startChildren'; readonly call: CallIn<'prepared'> }
  | { readonly kind: 'sendMessage'; readonly call: CallIn<'addressed'> }
  | { readonly kind: 'cancelTimedOut'; readonly call: CallIn<'reported'>; readonly reference: string }

/**
 * A child whose rows exist is always started, and a stored message to a child always sent: only a workflow can answer for them.
 * A child that timed out is always cancelled: the thread has forgotten it, so nothing else would end it (T7, T8).
 */
function childAction(call: Call | undefined): ChildAction | null {
  if (call?.state === 'prepared') return { kind: 'startChildren', call }
  if (call?.state === 'addressed') return { kind: 'sendMessage', call }
  if (call?.state !== 'reported') return null
  const [reference] = listChildrenToCancel(call)
  return reference === undefined ? null : { kind: 'cancelTimedOut', call, reference }
}

/** The next action of the call in flight. */
function callAction(control: ThreadControl, run: Run, step: Step): CallAction | ChildAction {
  const place = findCallInFlight(step.calls)
  if (place === null) throw new Error(`Step ${step.number} of run ${run.number} has no open call.`)
  const { call, frames } = place
  const child = childAction(call)
  if (child !== null) return child
  if (call.state === 'waiting') return { kind: 'awaitChildren', call }
  if (call.state === 'pending') return { kind: 'awaitAnswer', call }
  if (call.state === 'remote') return { kind: 'runRemote', call }
  const side = step.outside ? [] : [sidePlanOf(planOf(control), step.side).prompt]
  const work = { run, step, call, promptPath: [...side, ...frames], depth: frames.length }
  const tool = toolOf(control, work)
  const by = completionOf(call, work.depth)
  if (by !== null) return { kind: 'completeCall', ...work, tool, by }
  if (tool?.kind === 'subagent' || tool?.kind === 'subagent_create')
    return { kind: 'prepareChild', ...work, tool }
  if (tool?.kind === 'subagent_message') return { kind: 'prepareMessage', ...work, tool }
  // Deeper ones are refused by the activity, in words for the model.
  if (tool?.kind !== 'prompt' || work.depth >= LIMITS.frameDepth)
    return { kind: 'executeTool', ...work, tool }
  return {
    kind: 'callPrompt',
    ...work,
    tool,
    frame: { callId: call.id, prompt: tool.prompt, depth: work.depth + 1 },
  }
}

/** The kind that an activity found takes precedence over the plan; a prompt that is not in the plan lists nothing. */
function toolOf(
  control: ThreadControl,
  { call, promptPath }: Pick<CallWork, 'call' | 'promptPath'>,
): ToolPlan | undefined {
  const plan = planOf(control)
  const prompt = promptPath.at(-1)
  if (call.tool !== undefined) return call.tool
  return prompt === undefined || !Object.hasOwn(plan.prompts, prompt)
    ? undefined
    : toolPlanOf(plan, prompt, call.name)
}

/** What completes a call that does not end with its own activity, or null if it is not there yet. */
function completionOf(call: Call, depth: number): Completion | null {
  if (call.state === 'answered') return { kind: 'response', requestId: call.requestId }
  if (call.state === 'returned') return { kind: 'remote' }
  if (call.state === 'reported') return answerOf(call.wait)
  if (call.state !== 'framed') return null
  return { kind: 'frame', frame: { callId: call.id, prompt: call.prompt, depth: depth + 1 } }
}

/** A message that could not be sent has an answer, though its call does not wait. */
function answerOf({ blocking, references, reports }: ChildWait): Completion {
  if (!blocking && reports.length === 0) return { kind: 'sent', references }
  // In the order of the call's own items, so that the model can match them.
  const inOrder = references.flatMap((one) => reports.filter(({ reference }) => reference === one))
  return { kind: 'children', reports: inOrder }
}

/** The end of a run of a thread that stays open. */
function runEndAction(control: ThreadControl, ending: Ending): Action {
  return deliverAction(reportOfRun(control, ending)) ?? { kind: 'settle', ending, close: null }
}

/** The report that an idle thread owes its parent. */
function idleAction(control: ThreadControl): Action | null {
  return announceAction(control) ?? deliverAction(reportOfIdle(control))
}

/** The end of a thread. */
function closingAction(control: ThreadControl, ending: Ending | null, close: ThreadClose): Action {
  const { report, closing, run } = control
  // A report that was made before the thread began to close is about a run: it is announced first.
  if (closing === null && report !== null && !report.closes && !report.announced)
    return (run === null ? announceAction(control) : null) ?? { kind: 'settle', ending, close: null }
  const last = deliverAction(reportOfClosing(control, ending))
  if (last !== null) return last
  if (closing === null || !closing.settled) return { kind: 'settle', ending, close }
  const [next] = closing.cascade
  if (next === undefined) return announceAction(control) ?? { kind: 'close', closing }
  return announceAction(control) ?? { kind: 'cancelChild', reference: next }
}

function deliverAction(due: ReturnType<typeof reportOfRun>): Action | null {
  return due === null ? null : { kind: 'deliverReport', due }
}

function announceAction(control: ThreadControl): Action | null {
  const report = createAnnouncement(control)
  return report === null ? null : { kind: 'announceReport', report }
}

/**
 * Queues due effects and lets expired requests go on; nothing else happens to them here. It is no progress: a Temporal run that begins
 * when something comes due, or has room at last, would continue as new once more.
 */
export function applyDueTimes(control: ThreadControl, now: Millis): ThreadControl {
  const next = expireRequests(markExpiredDeferred(queueDueEffects(control, now), now), now)
  return next === control ? control : { ...next, progressed: control.progressed }
}

/** When something comes due next, or null. */
export function nextDueAt(control: ThreadControl, now: Millis): number | null {
  const times = [
    nextEffectAt(control, now),
    isClosing(control) ? null : nextExpiryAt(control),
    nextExpiryOfRequest(control),
  ]
  const known = times.filter((time) => time !== null)
  return known.length === 0 ? null : Math.min(...known)
}

function isClosing({ terminating, closing }: ThreadControl): boolean {
  return terminating || closing !== null
}
