/** What the workflow does next. Called only when nothing is in flight (T1), after `advance`. */
import type { ThreadClose } from '../protocol/end-activities.js'
import type { ChildReport } from '../protocol/messages.js'
import type { Side } from '../protocol/plan.js'
import { callAction, childAction } from './call-action.js'
import type { CallAction, ChildAction } from './call-action.js'
import { callInFlight } from './calls.js'
import { childrenToStop } from './child-waits.js'
import { closingAction, idleAction, runEndAction } from './closing.js'
import type { Closing, Ending, ModelCall, QueueEntry, Run, Tell, ThreadControl } from './control.js'
import type { CallIn } from './call-state.js'
import { deferredAction } from './deferred.js'
import type { DeferredAction } from './deferred.js'
import { drainable } from './inbox.js'
import type { DueReport } from './reports.js'

export type Action =
  | { readonly kind: 'wait' }
  | { readonly kind: 'waitUntil'; readonly until: number }
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
  | { readonly kind: 'tell'; readonly tell: Tell }
  | { readonly kind: 'deliverReport'; readonly due: DueReport }
  | { readonly kind: 'announceReport'; readonly report: ChildReport }
  | { readonly kind: 'settle'; readonly ending: Ending | null; readonly close: ThreadClose | null }
  | { readonly kind: 'cancelChild'; readonly reference: string }
  | { readonly kind: 'close'; readonly closing: Closing }

export function nextAction(control: ThreadControl): Action {
  const child = childAction(callInFlight(control.run?.step?.calls ?? [])?.call)
  if (child !== null) return child
  const [tell] = control.tells
  if (tell !== undefined) return { kind: 'tell', tell }
  const ending = endingOf(control)
  const close = closeOf(control, ending)
  if (close !== null) return closingAction(control, ending, close)
  const deferred = deferredAction(control)
  if (deferred !== null) return deferred
  const { run } = control
  if (run === null)
    return idleAction(control) ?? effectAction(control) ?? closesAction(control) ?? { kind: 'wait' }
  if (ending !== null) return stopForwarding(run) ?? runEndAction(control, ending)
  return run.waitUntil === null ? runAction(control, run) : { kind: 'waitUntil', until: run.waitUntil }
}

/** What a run does that nothing ends or holds up. */
export function runAction(control: ThreadControl, run: Run): Action {
  if (run.step !== null) return callAction(control, run, run.step)
  const between = run.again === null ? (effectAction(control) ?? closesAction(control)) : null
  return between ?? modelAction(control, run)
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

/** A due effect waits behind the stop flag as every item does. */
function effectAction({ queue: [first], stopped }: ThreadControl): Action | null {
  return first?.kind === 'effect' && !stopped ? { kind: 'runEffect', effectId: first.id } : null
}

/** The registry has to know before the model is told of it again. */
function closesAction({ closed }: ThreadControl): Action | null {
  return closed.length > 0 ? { kind: 'settle', ending: null, close: null } : null
}

/** An interrupt reaches the children that a call waits for; their later reports are ordinary items. */
function stopForwarding(run: Run): Action | null {
  const call = callInFlight(run.step?.calls ?? [])?.call
  if (!run.stopsChildren || call?.state !== 'waiting') return null
  const references = childrenToStop(call)
  return references.length === 0 ? null : { kind: 'stopChildren', call, references }
}

function modelAction(control: ThreadControl, run: Run): Action {
  if (run.pending !== undefined) return { kind: 'awaitModel', side: run.again?.side ?? run.side }
  if (run.again !== null) return { kind: 'callModel', run, ...run.again, drain: [] }
  // A run begins once: after a handoff the new agent's step finds the plan.
  const toolFirst = control.queue[0]?.kind === 'tool' && !run.planned && run.steps === 0 && !run.begun
  const drain = drainable(control)
  const asks = drain.some(({ kind }) => kind === 'continue' || kind === 'variables')
  const asked = asks || (run.begun && run.steps === 0)
  return { kind: 'callModel', run, side: actingSide(control, run, drain), asked, toolFirst, drain }
}

/** In a conversation of two agents the first message of a batch decides who acts. */
function actingSide(control: ThreadControl, run: Run, [first]: readonly QueueEntry[]): Side {
  if (control.plan !== null && control.plan.type === 'ai_human') return 'a'
  if (first === undefined || first.kind === 'continue' || first.kind === 'variables') return run.side
  return first.kind === 'message' && first.role === 'assistant' ? 'b' : 'a'
}
