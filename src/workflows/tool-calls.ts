import type {
  ActivityInput,
  CallInput,
  EndAnswer,
  ResultAnswer,
  TerminatedAnswer,
} from '../protocol/activities.js'
import { LIMITS } from '../protocol/limits.js'
import { sideToolOf, sidePlanOf } from '../protocol/plan.js'
import { planOf } from '../thread/advance.js'
import { callAnswered, childPrepared, runEnded, terminationFound } from '../thread/apply.js'
import type { Action } from '../thread/next-action.js'
import { callActivity, notAnswered } from './call-activity.js'
import type { Called } from './call-activity.js'
import type { ThreadHost } from './thread-host.js'

type Calling = Extract<Action, { readonly kind: 'executeTool' | 'prepareChild' }>

/** A function tool, or a name that the plan does not have: the activity says what it is. */
export async function executeTool(host: ThreadHost, action: Calling): Promise<void> {
  const tool = sideToolOf(planOf(host.control), action.step.side, action.call.name)
  const called = await callActivity(host, {
    name: 'executeTool',
    limit: tool?.kind === 'function' ? tool.timeout : LIMITS.toolTimeout,
    summary: `tool ${action.call.name}`,
    cancellable: true,
    input: { ...callInput(host, action), response: null },
  })
  applyResult(host, action.call.id, called)
}

/** The first half of a subagent call; the child is started next. */
export async function prepareChild(host: ThreadHost, action: Calling): Promise<void> {
  const called = await callActivity(host, {
    name: 'prepareChild',
    limit: 0,
    summary: `prepare ${action.call.name}`,
    cancellable: false,
    input: {
      ...callInput(host, action),
      children: host.control.childrenInAll,
      owed: host.control.children.length,
    },
  })
  if (called.kind === 'answered' && called.answer.type === 'child') {
    const { answer } = called
    return host.update((control) => childPrepared(control, action.call.id, answer, Date.now()))
  }
  applyResult(host, action.call.id, called)
}

/** The second half of a subagent call, when its child has answered or is gone. */
export async function completeCall(
  host: ThreadHost,
  action: Extract<Action, { readonly kind: 'completeCall' }>,
): Promise<void> {
  const { reference, report } = action.call
  const called = await callActivity(host, {
    name: 'completeCall',
    limit: 0,
    summary: `complete ${action.call.name}`,
    cancellable: false,
    input: { ...callInput(host, action), by: { kind: 'child', reference, report } },
  })
  applyResult(host, action.call.id, called)
}

function callInput(
  { control }: ThreadHost,
  { run, step, call }: Pick<Calling, 'run' | 'step' | 'call'>,
): Omit<CallInput, keyof ActivityInput> {
  const index = step.calls.findIndex((candidate) => candidate.id === call.id)
  return {
    step: step.number,
    side: step.side,
    agent: control.agent,
    plan: planOf(control).digest,
    callId: call.id,
    name: call.name,
    promptPath: [sidePlanOf(planOf(control), step.side).prompt],
    depth: 0,
    queued: false,
    handedOff: false,
    sideSteps: run.sideSteps,
    first: index === 0,
    last: index === step.calls.length - 1,
  }
}

type CallAnswer = ResultAnswer | EndAnswer | TerminatedAnswer

function applyResult(
  host: ThreadHost,
  callId: string,
  called: Called<'executeTool' | 'prepareChild' | 'completeCall'>,
): void {
  if (called.kind !== 'answered') return notAnswered(host, called)
  const answer = called.answer as CallAnswer
  host.update((control) => {
    if (answer.type === 'terminated') return terminationFound(control)
    return answer.type === 'end'
      ? runEnded(control, answer)
      : callAnswered(control, callId, answer, Date.now())
  })
}
