/** What the workflow does next. Called only when nothing is in flight (T1), after `advance`. */
import type { Completion, Frame } from '../protocol/activities.js'
import type { ThreadClose } from '../protocol/end-activities.js'
import { LIMITS } from '../protocol/limits.js'
import type { ChildReport } from '../protocol/messages.js'
import { sidePlanOf, toolPlanOf } from '../protocol/plan.js'
import type { Side, ToolPlan } from '../protocol/plan.js'
import { planOf } from './advance.js'
import { callInFlight } from './calls.js'
import { closingAction, idleAction, runEndAction } from './closing.js'
import type {
  Call,
  CallIn,
  Closing,
  Ending,
  ModelCall,
  QueueEntry,
  Run,
  Step,
  Tell,
  ThreadControl,
} from './control.js'
import { drainable } from './inbox.js'
import type { DueReport } from './reports.js'

/** A call to be worked at, and where it is. */
export interface CallWork {
  readonly run: Run
  readonly step: Step
  readonly call: Call
  /** The prompts that lead to it, the active one last; none for a tool of the inbox. */
  readonly promptPath: readonly string[]
  readonly depth: number
  /** What the name is, as far as the plan or an activity says. */
  readonly tool: ToolPlan | undefined
}

export type Action =
  | { readonly kind: 'wait' }
  | { readonly kind: 'waitUntil'; readonly until: number }
  | (ModelCall & {
      readonly kind: 'callModel'
      readonly run: Run
      readonly drain: readonly QueueEntry[]
    })
  | (CallWork & { readonly kind: 'callPrompt'; readonly frame: Frame })
  | (CallWork & { readonly kind: 'executeTool' | 'prepareChild' })
  | (CallWork & { readonly kind: 'completeCall'; readonly by: Completion })
  | { readonly kind: 'startChild'; readonly call: CallIn<'prepared'> }
  | { readonly kind: 'awaitChild'; readonly call: CallIn<'waiting'> }
  | { readonly kind: 'stopChild'; readonly call: CallIn<'waiting'> }
  | { readonly kind: 'awaitAnswer'; readonly call: CallIn<'pending'> }
  | { readonly kind: 'runEffect'; readonly effectId: string }
  | { readonly kind: 'tell'; readonly tell: Tell }
  | { readonly kind: 'deliverReport'; readonly due: DueReport }
  | { readonly kind: 'announceReport'; readonly report: ChildReport }
  | { readonly kind: 'settle'; readonly ending: Ending | null; readonly close: ThreadClose | null }
  | { readonly kind: 'cancelChild'; readonly reference: string }
  | { readonly kind: 'close'; readonly closing: Closing }

export function nextAction(control: ThreadControl): Action {
  const prepared = callInFlight(control.run?.step?.calls ?? [])?.call
  // A child whose rows exist is always started: only a workflow can answer for it (T7).
  if (prepared?.state === 'prepared') return { kind: 'startChild', call: prepared }
  const [tell] = control.tells
  if (tell !== undefined) return { kind: 'tell', tell }
  const ending = endingOf(control)
  const close = closeOf(control, ending)
  if (close !== null) return closingAction(control, ending, close)
  const { run } = control
  if (run === null) return idleAction(control) ?? effectAction(control) ?? { kind: 'wait' }
  if (ending !== null) return stopForwarding(run) ?? runEndAction(control, ending)
  return run.waitUntil === null ? runAction(control, run) : { kind: 'waitUntil', until: run.waitUntil }
}

/** What a run does that nothing ends or holds up. */
export function runAction(control: ThreadControl, run: Run): Action {
  if (run.step !== null) return callAction(control, run, run.step)
  const effect = run.again === null ? effectAction(control) : null
  return effect ?? modelAction(control, run)
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

/** An interrupt reaches a blocking child, whose later report is an ordinary item. */
function stopForwarding(run: Run): Action | null {
  const call = callInFlight(run.step?.calls ?? [])?.call
  return call?.state === 'waiting' && !call.stopForwarded ? { kind: 'stopChild', call } : null
}

function modelAction(control: ThreadControl, run: Run): Action {
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

function callAction(control: ThreadControl, run: Run, step: Step): Action {
  const place = callInFlight(step.calls)
  if (place === null) throw new Error(`Step ${step.number} of run ${run.number} has no open call.`)
  const { call, frames } = place
  if (call.state === 'waiting') return { kind: 'awaitChild', call }
  if (call.state === 'pending') return { kind: 'awaitAnswer', call }
  const side = step.outside ? [] : [sidePlanOf(planOf(control), step.side).prompt]
  const work = { run, step, call, promptPath: [...side, ...frames], depth: frames.length }
  const tool = toolOf(control, work)
  const by = completionOf(call, work.depth)
  if (by !== null) return { kind: 'completeCall', ...work, tool, by }
  if (tool?.kind === 'subagent') return { kind: 'prepareChild', ...work, tool }
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

/** What an activity said counts more than the plan; a prompt that the plan does not have lists nothing. */
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

/** What answers a call that does not end with its own activity, once it is there. */
function completionOf(call: Call, depth: number): Completion | null {
  if (call.state === 'answered') return { kind: 'response', requestId: call.requestId }
  if (call.state === 'reported') return { kind: 'child', reference: call.reference, report: call.report }
  if (call.state !== 'framed') return null
  return { kind: 'frame', frame: { callId: call.id, prompt: call.prompt, depth: depth + 1 } }
}
