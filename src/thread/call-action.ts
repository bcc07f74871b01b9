/** What the call in flight of a step needs next, at whatever depth it is. */
import type { Frame } from '../protocol/activities.js'
import type { Completion } from '../protocol/complete-call.js'
import { LIMITS } from '../protocol/limits.js'
import { sidePlanOf, toolPlanOf } from '../protocol/plan.js'
import type { ToolPlan } from '../protocol/plan.js'
import { planOf } from './advance.js'
import { callInFlight } from './calls.js'
import type { Run, Step, ThreadControl } from './control.js'
import type { Call, CallIn, ChildWait } from './call-state.js'
import { childrenToCancel } from './cut-waits.js'

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

export type CallAction =
  | (CallWork & { readonly kind: 'callPrompt'; readonly frame: Frame })
  | (CallWork & { readonly kind: 'executeTool' })
  | (CallWork & { readonly kind: 'prepareChild' | 'prepareMessage' })
  | (CallWork & { readonly kind: 'completeCall'; readonly by: Completion })
  | { readonly kind: 'awaitChildren'; readonly call: CallIn<'waiting'> }
  | { readonly kind: 'awaitAnswer'; readonly call: CallIn<'pending'> }
  | { readonly kind: 'runRemote'; readonly call: CallIn<'remote'> }

/** What is done for a call whatever ends its run. */
export type ChildAction =
  | { readonly kind: 'startChildren'; readonly call: CallIn<'prepared'> }
  | { readonly kind: 'sendMessage'; readonly call: CallIn<'addressed'> }
  | { readonly kind: 'cancelLate'; readonly call: CallIn<'reported'>; readonly reference: string }

/**
 * A child whose rows exist is always started, and a message of its store sent: only a workflow can answer for them. One
 * that nobody waits for any more is always cancelled, for it is in no list any more (T7, T8).
 */
export function childAction(call: Call | undefined): ChildAction | null {
  if (call?.state === 'prepared') return { kind: 'startChildren', call }
  if (call?.state === 'addressed') return { kind: 'sendMessage', call }
  if (call?.state !== 'reported') return null
  const [reference] = childrenToCancel(call)
  return reference === undefined ? null : { kind: 'cancelLate', call, reference }
}

/** What the call in flight needs next. */
export function callAction(control: ThreadControl, run: Run, step: Step): CallAction | ChildAction {
  const place = callInFlight(step.calls)
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
  if (call.state === 'returned') return { kind: 'remote' }
  if (call.state === 'reported') return answerOf(call.wait)
  if (call.state !== 'framed') return null
  return { kind: 'frame', frame: { callId: call.id, prompt: call.prompt, depth: depth + 1 } }
}

/** A message that could not be sent has an answer, though its call does not wait. */
function answerOf({ blocking, references, reports }: ChildWait): Completion {
  if (!blocking && reports.length === 0) return { kind: 'sent', references }
  // As the call named them: who asked reads them beside its items.
  const inOrder = references.flatMap((one) => reports.filter(({ reference }) => reference === one))
  return { kind: 'children', reports: inOrder }
}
