import type { ActivityInput, CallInput, ExecuteToolAnswer } from '../protocol/activities.js'
import type { CompleteCallAnswer } from '../protocol/complete-call.js'
import type { PrepareChildAnswer, PrepareMessageAnswer } from '../protocol/child-activities.js'
import { LIMITS } from '../protocol/limits.js'
import { planOf } from '../thread/advance.js'
import { runEnded, terminationFound, waitAsked } from '../thread/apply.js'
import type { CallWork } from '../thread/call-action.js'
import { placeInStep } from '../thread/calls.js'
import { callAnswered, callPending, callRemote, kindAnswered } from '../thread/call-answers.js'
import { childrenPrepared, messagePrepared } from '../thread/child-calls.js'
import type { ThreadControl } from '../thread/control.js'
import type { Action } from '../thread/next-action.js'
import { taskQueueOf } from '../thread/task-queues.js'
import { callActivity, notAnswered } from './call-activity.js'
import type { Called } from './call-activity.js'
import type { ThreadHost } from './thread-host.js'

/** A function tool, or a name that the plan does not have: the activity says what it is. */
export async function executeTool(
  host: ThreadHost,
  work: Extract<Action, { readonly kind: 'executeTool' }>,
): Promise<void> {
  const { call } = work
  const called = await callActivity(host, {
    name: 'executeTool',
    limit: timeLimit(work),
    summary: `tool ${call.name}`,
    cutBy: 'stop',
    taskQueue: taskQueueOf(host.control, work),
    input: {
      response: null,
      ...callInput(host, work),
      ...(call.tool?.kind === 'function' && { moved: true }),
    },
  })
  applyAnswer(host, call.id, called)
}

/** The plan does not say how long a queued tool may take: its own limit, which the activity knows, ends it. */
function timeLimit({ call, tool }: CallWork): number {
  if (tool?.kind === 'function') return tool.timeout
  return call.queued ? LIMITS.scheduleToClose : LIMITS.toolTimeout
}

/** The first half of a subagent call; its children are started next. */
export async function prepareChild(host: ThreadHost, work: CallWork): Promise<void> {
  const { control } = host
  const called = await callActivity(host, {
    name: 'prepareChild',
    limit: 0,
    summary: `prepare ${work.call.name}`,
    cutBy: null,
    input: {
      ...callInput(host, work),
      children: control.childrenInAll,
      open: control.children.length + control.deferred.length,
    },
  })
  applyAnswer(host, work.call.id, called)
}

/** The first half of a message to a subagent; it is sent next. */
export async function prepareMessage(host: ThreadHost, work: CallWork): Promise<void> {
  const called = await callActivity(host, {
    name: 'prepareMessage',
    limit: 0,
    summary: `prepare ${work.call.name}`,
    cutBy: null,
    input: callInput(host, work),
  })
  applyAnswer(host, work.call.id, called)
}

/** The second half of a call that did not end with its own activity: children, a frame or a person have answered. */
export async function completeCall(
  host: ThreadHost,
  { by, ...work }: Extract<Action, { readonly kind: 'completeCall' }>,
): Promise<void> {
  const called = await callActivity(host, {
    name: 'completeCall',
    limit: 0,
    summary: `complete ${work.call.name}`,
    cutBy: null,
    input: { ...callInput(host, work), by },
  })
  applyAnswer(host, work.call.id, called)
}

function callInput({ control }: ThreadHost, work: CallWork): Omit<CallInput, keyof ActivityInput> {
  const { run, step, call, promptPath, depth } = work
  const response = call.state === 'open' ? call.response : undefined
  const { isFirst, isLast } = placeInStep(step, call)
  return {
    step: step.number,
    side: step.side,
    agent: control.agent,
    plan: planOf(control).digest,
    callId: call.id,
    name: call.name,
    promptPath,
    depth,
    queued: call.queued === true,
    handedOff: step.handOff !== null,
    sideSteps: run.sideSteps,
    first: isFirst && step.phase === 4,
    last: isLast,
    ...(response !== undefined && { response }),
  }
}

type Answer = ExecuteToolAnswer | PrepareChildAnswer | PrepareMessageAnswer | CompleteCallAnswer

function applyAnswer(
  host: ThreadHost,
  callId: string,
  called: Called<'executeTool' | 'prepareChild' | 'prepareMessage' | 'completeCall'>,
): void {
  if (called.kind !== 'answered') return notAnswered(host, called)
  const { answer } = called
  host.update((control) => applied(control, callId, answer))
}

function applied(control: ThreadControl, callId: string, answer: Answer): ThreadControl {
  const now = Date.now()
  switch (answer.type) {
    case 'result':
      return callAnswered(control, callId, answer, now)
    case 'remote':
      return callRemote(control, callId, answer)
    case 'kind':
      return kindAnswered(control, callId, answer.tool)
    case 'children':
      return childrenPrepared(control, callId, answer, now)
    case 'message':
      return messagePrepared(control, callId, answer, now)
    case 'pending':
      return callPending(control, callId, answer, now)
    case 'wait':
      return waitAsked(control, answer, null)
    case 'end':
      return runEnded(control, answer, now)
    case 'terminated':
      return terminationFound(control)
  }
}
