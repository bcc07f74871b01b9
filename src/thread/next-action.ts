/**
 * What the workflow does next. Called only when nothing is in flight (T1), after `advance`. A finished thread ends in
 * this order: report into the parent's store, settle, announce the report, tell the children, close (T7, T8): by the time
 * the parent hears of it, this thread takes nothing any more.
 */
import type { ThreadClose } from '../protocol/activities.js'
import { sideToolOf } from '../protocol/plan.js'
import type { Side } from '../protocol/plan.js'
import { planOf } from './advance.js'
import type { Call, Closing, Ending, QueueEntry, Run, Step, ThreadControl } from './control.js'

export type Action =
  | { readonly kind: 'wait' }
  | {
      readonly kind: 'callModel'
      readonly run: Run
      readonly side: Side
      readonly drain: readonly QueueEntry[]
    }
  | {
      readonly kind: 'executeTool' | 'prepareChild'
      readonly run: Run
      readonly step: Step
      readonly call: Call
    }
  | { readonly kind: 'startChild'; readonly call: Call & { readonly state: 'prepared' } }
  | { readonly kind: 'awaitChild'; readonly call: Call & { readonly state: 'waiting' } }
  | { readonly kind: 'stopChild'; readonly call: Call & { readonly state: 'waiting' } }
  | {
      readonly kind: 'completeCall'
      readonly run: Run
      readonly step: Step
      readonly call: Call & { readonly state: 'reported' }
    }
  | { readonly kind: 'deliverReport'; readonly ending: Ending }
  | { readonly kind: 'announceReport'; readonly messageId: string }
  | { readonly kind: 'settle'; readonly ending: Ending | null; readonly close: ThreadClose | null }
  | { readonly kind: 'cancelChild'; readonly reference: string }
  | { readonly kind: 'close'; readonly closing: Closing }

export function nextAction(control: ThreadControl): Action {
  const prepared = openCall(control.run)
  // A child whose rows exist is always started: only a workflow can answer for it (T7).
  if (prepared?.state === 'prepared') return { kind: 'startChild', call: prepared }
  const ending = endingOf(control)
  const close = closeOf(control, ending)
  if (close !== null) return closingAction(control, ending, close)
  const { run } = control
  if (run === null) return { kind: 'wait' }
  if (ending !== null) return stopForwarding(run) ?? { kind: 'settle', ending, close: null }
  if (run.step === null) return modelAction(control, run)
  return callAction(control, run, run.step)
}

/** Why the run must end now, or null. */
export function endingOf(control: ThreadControl): Ending | null {
  if (control.run === null) return null
  if (control.run.ending !== null) return control.run.ending
  if (control.terminating) return { reason: 'terminated', outcome: 'cancelled', sessionCall: null }
  if (control.run.stopRequested) return { reason: 'stopped', outcome: 'cancelled', sessionCall: null }
  return null
}

function closeOf(control: ThreadControl, ending: Ending | null): ThreadClose | null {
  if (control.closing !== null) return control.closing
  if (control.terminating) return { outcome: 'terminated', reason: 'terminated' }
  if (ending === null || control.start.resumable !== false) return null
  return { outcome: ending.outcome === 'completed' ? 'completed' : 'failed', reason: ending.reason }
}

const TERMINATED: Ending = { reason: 'terminated', outcome: 'cancelled', sessionCall: null }

function closingAction(control: ThreadControl, ending: Ending | null, close: ThreadClose): Action {
  const { report, closing } = control
  if (control.start.parent !== undefined && report === null)
    return { kind: 'deliverReport', ending: ending ?? TERMINATED }
  if (closing === null || !closing.settled) return { kind: 'settle', ending, close }
  if (report !== null && report.messageId !== null && !report.announced)
    return { kind: 'announceReport', messageId: report.messageId }
  const [next] = closing.cascade
  return next === undefined ? { kind: 'close', closing } : { kind: 'cancelChild', reference: next }
}

/** An interrupt reaches a blocking child, whose later report is an ordinary item. */
function stopForwarding(run: Run): Action | null {
  const call = openCall(run)
  return call?.state === 'waiting' && !call.stopForwarded ? { kind: 'stopChild', call } : null
}

function modelAction(control: ThreadControl, run: Run): Action {
  return { kind: 'callModel', run, side: actingSide(control, run), drain: control.queue }
}

/** In a conversation of two agents the first message of a batch decides who acts. */
function actingSide(control: ThreadControl, run: Run): Side {
  const [first] = control.queue
  if (control.plan !== null && control.plan.type === 'ai_human') return 'a'
  if (first === undefined || first.kind === 'continue') return run.side
  return first.kind === 'message' && first.role === 'assistant' ? 'b' : 'a'
}

function callAction(control: ThreadControl, run: Run, step: Step): Action {
  const call = openCall(run)
  if (call === undefined) throw new Error(`Step ${step.number} of run ${run.number} has no open call.`)
  if (call.state === 'waiting') return { kind: 'awaitChild', call }
  if (call.state === 'reported') return { kind: 'completeCall', run, step, call }
  const tool = sideToolOf(planOf(control), step.side, call.name)
  return { kind: tool?.kind === 'subagent' ? 'prepareChild' : 'executeTool', run, step, call }
}

function openCall(run: Run | null): Call | undefined {
  return run?.step?.calls.find((call) => call.state !== 'done')
}
