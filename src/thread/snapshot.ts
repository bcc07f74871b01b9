import { runIdOf } from '../protocol/ids.js'
import { modelOf } from '../protocol/plan.js'
import type { ControlSnapshot, QueuedItem } from '../protocol/snapshot.js'
import type { ThreadStatus } from '../protocol/status.js'
import type { QueueEntry, Run, ThreadControl } from './control.js'
import { endingOf, nextAction } from './next-action.js'

/** What the `snapshot` query answers. `since`: when the action under way began, in milliseconds. */
export function snapshotOf(
  control: ThreadControl,
  time: { readonly now: number; readonly since: number },
): ControlSnapshot {
  return {
    threadId: control.threadId,
    agent: control.agent,
    parent: control.start.parent?.threadId ?? null,
    status: statusOf(control),
    at: time.now,
    run: control.run === null ? null : runSnapshot(control, control.run, time.since),
    queue: control.queue.map(queuedItem),
    pending: [],
    effects: [],
    children: control.children.map(({ reference, callId }) => ({ reference, callId })),
    lastRun: control.lastRun,
  }
}

export function statusOf(control: ThreadControl): ThreadStatus {
  if (control.closing !== null) return control.closing.outcome
  if (control.terminating) return 'terminated'
  if (control.run !== null) return 'running'
  if (control.stopped) return control.lastRun?.reason === 'blocked' ? 'blocked' : 'stopped'
  return control.queue.length > 0 ? 'running' : 'idle'
}

/** What is being done, by registered names: also shown in the Temporal UI. */
export function doingOf(control: ThreadControl): string | null {
  if (control.run === null || endingOf(control) !== null) return null
  const action = nextAction(control)
  if (action.kind === 'callModel') return modelLabel(control, action.side)
  if (action.kind === 'executeTool') return `tool ${action.call.name}`
  if (action.kind === 'prepareChild' || action.kind === 'completeCall') return `agent ${action.call.name}`
  return action.kind === 'awaitChild' ? `child ${action.call.reference}` : null
}

function modelLabel(control: ThreadControl, side: 'a' | 'b'): string {
  const plan = control.run?.planned === true ? control.plan : null
  return plan === null ? 'model' : `model ${modelOf(plan, side)}`
}

function runSnapshot(control: ThreadControl, run: Run, since: number): ControlSnapshot['run'] {
  return {
    runId: runIdOf(run.number),
    side: run.step?.side ?? run.side,
    steps: run.steps,
    sessionTurns: run.sessionTurns,
    doing: control.run?.step?.calls.every((call) => call.state === 'done') === true ? null : doingOf(control),
    since,
  }
}

function queuedItem(entry: QueueEntry): QueuedItem {
  const kind = entry.kind === 'child_closed' ? 'report' : entry.kind
  return { id: entry.id, kind, queuedAt: entry.queuedAt }
}
