/**
 * The answer of the `snapshot` query, and the task queue of an action's activity.
 *
 * It owns: the status of a thread, the labels of the Temporal UI, the task queue of an action. It does not own: the control
 * state.
 * Invariant: ids, registered names and numbers only, never content (T5).
 */
import { runIdOf } from '../protocol/ids.js'
import { WORKFLOW_REQUEST } from '../protocol/payloads/tool-workflow.js'
import { actualSide, modelOf, promptPlanOf, sidePlanOf } from '../protocol/plan.js'
import type { Plan, Side } from '../protocol/plan.js'
import type { ControlSnapshot, QueuedItem, ThreadStatus } from '../protocol/status.js'
import { listOpenRequests } from './call-answers.js'
import { findCallInFlight, listMissing } from './calls.js'
import { listOpenChildren } from './children.js'
import type { QueueEntry, ThreadControl } from './control.js'
import { kindOf } from './inbox.js'
import { workAction } from './next-action.js'
import type { Action } from './next-action.js'
import { endingOf, stepOf } from './run.js'
import type { ChildWait, Run } from './run.js'
import type { Millis } from '../protocol/time.js'

/** The answer of the `snapshot` query. `since`: when the action under way began, in milliseconds. */
export function snapshotOf(
  control: ThreadControl,
  time: { readonly now: Millis; readonly since: Millis },
): ControlSnapshot {
  return {
    threadId: control.threadId,
    agent: control.agent,
    parent: control.start.parent?.threadId ?? null,
    status: statusOf(control),
    at: time.now,
    run: control.run === null ? null : runSnapshot(control, control.run, time.since),
    queue: control.queue.map(toQueuedItem),
    // The end of a workflow is nobody's answer.
    pending: listOpenRequests(control).filter(({ kind }) => kind !== WORKFLOW_REQUEST),
    effects: control.effects,
    children: listOpenChildren(control).map(({ reference, owes }) => ({
      reference,
      owed: owes.length > 0,
    })),
    lastRun: control.lastRun,
  }
}

export function statusOf(control: ThreadControl): ThreadStatus {
  if (control.closing !== null) return control.closing.outcome
  if (control.terminating) return 'terminated'
  if (control.run !== null) return runStatus(control, control.run)
  // An item that came since makes a blocked thread try again.
  const goesOn = !control.stopped && control.queue.length > 0
  if (control.request !== null && !goesOn) return 'blocked'
  if (control.stopped) return control.lastRun?.reason === 'blocked' ? 'blocked' : 'stopped'
  // Outbound signals are still to be sent.
  return control.queue.length > 0 || control.outbound.length > 0 ? 'running' : 'idle'
}

function runStatus(control: ThreadControl, run: Run): ThreadStatus {
  if (endingOf(control) !== null) return 'running'
  const { phase } = run
  switch (phase.kind) {
    case 'waiting':
      // A call that looks at something again is in flight.
      return phase.cause === 'call' ? 'running' : 'waiting_resource'
    case 'pending':
      return phase.request.status
    case 'stepping': {
      const call = findCallInFlight(phase.step.calls)?.call
      return call?.state === 'pending' ? call.request.status : 'running'
    }
    case 'between_steps':
    case 'ending':
      return 'running'
  }
}

/** The innermost work under way, by registered names: also shown in the Temporal UI. */
export function doingOf(control: ThreadControl): string | null {
  const { run } = control
  if (run === null || endingOf(control) !== null) return null
  const step = stepOf(run)
  if (step !== null && findCallInFlight(step.calls) === null) return null
  return actionLabel(control, workAction(control, run))
}

/** The task queue of that work, if it is not the thread's own: it shows an operator which worker to look at. */
export function doingOn(control: ThreadControl): string | null {
  const { run } = control
  return run === null || doingOf(control) === null ? null : taskQueueOf(control, workAction(control, run))
}

function actionLabel(control: ThreadControl, action: Action): string | null {
  switch (action.kind) {
    case 'callModel':
    case 'awaitModel':
      return modelLabel(control, action.side)
    case 'callPrompt':
      return `model ${promptModel(control, action.frame.prompt)}`
    case 'executeTool':
    case 'awaitAnswer':
    case 'runRemote':
      return `tool ${action.call.name}`
    case 'prepareChild':
    case 'prepareMessage':
      return `agent ${action.call.name}`
    case 'completeCall':
      return `${action.call.state === 'reported' ? 'agent' : 'tool'} ${action.call.name}`
    case 'awaitChildren':
      return childrenLabel(action.call.wait)
    case 'runEffect':
      return `effect ${action.effectId}`
    default:
      return null
  }
}

function childrenLabel(wait: ChildWait): string {
  const { references } = wait
  return references.length === 1
    ? `child ${references[0]}`
    : `children, ${listMissing(wait).length} of ${references.length}`
}

function modelLabel(control: ThreadControl, side: 'a' | 'b'): string {
  const plan = control.run?.planning === 'known' ? control.plan : null
  return plan === null ? 'model' : `model ${modelOf(plan, side)}`
}

/** The model of a prompt; if the plan does not have the prompt, its name. */
function promptModel({ plan }: ThreadControl, prompt: string): string {
  return plan !== null && Object.hasOwn(plan.prompts, prompt) ? promptPlanOf(plan, prompt).model : prompt
}

function runSnapshot(control: ThreadControl, run: Run, since: Millis): ControlSnapshot['run'] {
  const taskQueue = doingOn(control)
  return {
    runId: runIdOf(run.number),
    side: stepOf(run)?.side ?? run.side,
    steps: run.steps,
    sessionTurns: run.sessionTurns,
    doing: doingOf(control),
    ...(taskQueue === null ? {} : { taskQueue }),
    since,
    ...(mayBeAhead(control, run) && { mayBeAhead: true as const }),
  }
}

function mayBeAhead(control: ThreadControl, run: Run): boolean {
  if (control.plan?.caps.stepsPerActivity === undefined || doingOf(control) === null) return false
  return workAction(control, run).kind === 'callModel'
}

function toQueuedItem(entry: QueueEntry): QueuedItem<Millis> {
  return { id: entry.id, kind: kindOf(entry), queuedAt: entry.queuedAt }
}

export function taskQueueOf(control: ThreadControl, action: Action): string | null {
  switch (action.kind) {
    case 'callModel':
      // The call only gets the run its row and plan, and calls no model.
      return action.toolFirst ? null : sideQueue(control, action.side)
    case 'callPrompt':
      return promptQueue(control.plan, action.frame.prompt)
    case 'executeTool':
      return action.tool?.kind === 'function' ? (action.tool.taskQueue ?? null) : null
    case 'runRemote':
      return action.call.remote.taskQueue
    default:
      return null
  }
}

/** Until the plan of the run is known the last run's plan is used; the activity moves the call if the plans differ. */
function sideQueue({ plan }: ThreadControl, side: Side): string | null {
  return plan === null ? null : promptQueue(plan, sidePlanOf(plan, actualSide(plan, side)).prompt)
}

/** A prompt that the plan does not have runs on the thread's own task queue. */
function promptQueue(plan: Plan | null, prompt: string): string | null {
  if (plan === null || !Object.hasOwn(plan.prompts, prompt)) return null
  return plan.prompts[prompt]?.taskQueue ?? null
}
