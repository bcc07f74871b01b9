import { ActivityFailure, CancelledFailure, proxyActivities } from '@temporalio/workflow'

import type { RemoteCallInput } from '../protocol/activities.js'
import { idempotencyKeyOf } from '../protocol/ids.js'
import { LIMITS } from '../protocol/limits.js'
import { modelOf } from '../protocol/plan.js'
import { planOf } from '../thread/advance.js'
import { aheadOf, applyAllAhead, markAhead, restsWithFacts } from '../thread/ahead.js'
import { applyActivityFailure, applyTermination } from '../thread/apply.js'
import {
  applyFrameAnswer,
  applyRemoteReturn,
  applyToolAnswer,
  beginFrame,
  callInput,
  toolInput,
  toolTimeout,
} from '../thread/call-answers.js'
import { locateInStep } from '../thread/calls.js'
import { countChildren } from '../thread/children.js'
import { applyModelAnswer, beginModelCall, modelInput } from '../thread/model-answers.js'
import type { Action } from '../thread/next-action.js'
import { endingOf } from '../thread/run.js'
import type { CallIn, CallWork } from '../thread/run.js'
import { taskQueueOf } from '../thread/snapshot.js'
import { activityOptions, callActivity } from './activities.js'
import { settle } from './settle.js'
import type { ThreadHost } from './thread-host.js'

/** A worker that dies or fails again and again is retried for some two minutes. */
const REMOTE_ATTEMPTS = 10

/** The growth of the retry interval that makes ten attempts in some two minutes. */
const REMOTE_RETRY_GROWTH = 2

/** The activities of a step. */
type StepActivity = 'callModel' | 'executeTool' | 'prepareChild' | 'prepareMessage' | 'completeCall'

type Called<N extends StepActivity> = Awaited<ReturnType<typeof callActivity<N>>>

/** Actions of a step: its model call and its tool calls. */
type StepAction = Extract<
  Action,
  {
    readonly kind:
      | 'callModel'
      | 'callPrompt'
      | 'executeTool'
      | 'prepareChild'
      | 'prepareMessage'
      | 'completeCall'
      | 'runRemote'
  }
>

/** Carries out an action of a step and applies its outcome. */
export function performStep(host: ThreadHost, action: StepAction): Promise<void> {
  switch (action.kind) {
    case 'callModel':
      return callModel(host, action)
    case 'callPrompt':
      return callPrompt(host, action)
    case 'executeTool':
      return executeTool(host, action)
    case 'prepareChild':
      return prepareChild(host, action)
    case 'prepareMessage':
      return prepareMessage(host, action)
    case 'completeCall':
      return completeCall(host, action)
    case 'runRemote':
      return runRemote(host, action.call)
  }
}

/** Phases 1 to 4 of a step, and what its activity does ahead. */
async function callModel(
  host: ThreadHost,
  action: Extract<Action, { readonly kind: 'callModel' }>,
): Promise<void> {
  const { run, side } = action
  host.update((control) => beginModelCall(control, action))
  const { control } = host
  const ahead = aheadOf(control, action)
  const plan = run.planning === 'known' ? planOf(control) : null
  const called = await callActivity(host, {
    name: 'callModel',
    limit: LIMITS.modelCall,
    summary: `${control.agent}: step ${run.steps + 1}${plan === null ? '' : `, model ${modelOf(plan, side)}`}`,
    interruptedBy: 'stop',
    taskQueue: taskQueueOf(control, action),
    input: { ...modelInput(control, action), ...(ahead !== undefined && { ahead }) },
    ...(ahead !== undefined && { aheadFrom: run.steps + 1 }),
  })
  if (called.kind !== 'answered') return applyMissingAnswer(host, called)
  const { answer, sent: begun, received } = called
  const now = Date.now()
  const pairs = 'ahead' in answer ? (answer.ahead ?? []) : []
  if (pairs.length > 0) {
    host.update((waiting) => applyAllAhead({ waiting, received, begun, action, answer, pairs }, now))
    if (restsWithFacts(host.control)) await settle(host, { ending: null, close: null })
    return
  }
  if (answer.type === 'terminated') return host.update(applyTermination)
  host.update((current) => applyModelAnswer(current, action, answer, now))
  if (ahead !== undefined) host.update(markAhead)
}

/** The model call of a prompt that was called as a tool; its calls nest in that tool call. */
async function callPrompt(
  host: ThreadHost,
  action: Extract<Action, { readonly kind: 'callPrompt' }>,
): Promise<void> {
  const { step, call, frame } = action
  host.update(beginFrame)
  const { control } = host
  const { digest } = planOf(control)
  const called = await callActivity(host, {
    name: 'callModel',
    limit: LIMITS.modelCall,
    summary: `${control.agent}: prompt ${frame.prompt}`,
    interruptedBy: 'stop',
    taskQueue: taskQueueOf(control, action),
    input: {
      step: step.number,
      side: step.side,
      agent: control.agent,
      plan: digest,
      knownPlan: digest,
      toolFirst: false,
      frame: locateInStep(step, call).isLast ? { ...frame, last: true } : frame,
      trigger: null,
      sideStarts: false,
      asked: false,
      // Only a side's own prompt starts subagents by itself.
      activated: true,
      wordless: false,
      drain: [],
      start: null,
      createdAt: control.createdAt,
      ...(call.state === 'open' && call.response !== undefined && { response: call.response }),
    },
  })
  if (called.kind !== 'answered') return applyMissingAnswer(host, called)
  const { answer } = called
  host.update((current) =>
    answer.type === 'terminated'
      ? applyTermination(current)
      : applyFrameAnswer(current, frame, answer, Date.now()),
  )
}

/** Runs a function tool, or finds the kind of a name that the plan does not have. */
async function executeTool(
  host: ThreadHost,
  work: Extract<Action, { readonly kind: 'executeTool' }>,
): Promise<void> {
  const { control } = host
  const called = await callActivity(host, {
    name: 'executeTool',
    limit: toolTimeout(work),
    summary: `tool ${work.call.name}`,
    interruptedBy: 'stop',
    taskQueue: taskQueueOf(control, work),
    input: toolInput(control, work),
  })
  applyAnswer(host, work.call.id, called)
}

/** The first half of a subagent call; its children are started next. */
async function prepareChild(host: ThreadHost, work: CallWork): Promise<void> {
  const { control } = host
  const called = await callActivity(host, {
    name: 'prepareChild',
    limit: 0,
    summary: `prepare ${work.call.name}`,
    interruptedBy: null,
    input: {
      ...callInput(control, work),
      children: control.childrenInAll,
      open: countChildren(control),
    },
  })
  applyAnswer(host, work.call.id, called)
}

/** The first half of a message to a subagent; it is sent next. */
async function prepareMessage(host: ThreadHost, work: CallWork): Promise<void> {
  const called = await callActivity(host, {
    name: 'prepareMessage',
    limit: 0,
    summary: `prepare ${work.call.name}`,
    interruptedBy: null,
    input: callInput(host.control, work),
  })
  applyAnswer(host, work.call.id, called)
}

/** The second half of a call that did not end with its own activity: children, a frame or a response have completed it. */
async function completeCall(
  host: ThreadHost,
  { by, ...work }: Extract<Action, { readonly kind: 'completeCall' }>,
): Promise<void> {
  const called = await callActivity(host, {
    name: 'completeCall',
    limit: 0,
    summary: `complete ${work.call.name}`,
    interruptedBy: null,
    input: { ...callInput(host.control, work), by },
  })
  applyAnswer(host, work.call.id, called)
}

function applyAnswer(
  host: ThreadHost,
  callId: string,
  called: Called<Exclude<StepActivity, 'callModel'>>,
): void {
  if (called.kind !== 'answered') return applyMissingAnswer(host, called)
  const { answer } = called
  const now = Date.now()
  host.update((control) => applyToolAnswer(control, callId, answer, now))
}

/**
 * A tool in another language: its activity gets ids only, and its result is not read (T5). However the activity ends, the store
 * has the outcome; a call that a stop or terminate has interrupted is closed with its run.
 */
async function runRemote(host: ThreadHost, { id, name, remote }: CallIn<'remote'>): Promise<void> {
  const { control, level } = host
  const { threadId } = control
  const { taskQueue, activity, timeout } = remote
  const options = activityOptions(control, { limit: timeout, summary: `tool ${name}`, taskQueue })
  const activities = proxyActivities<Record<string, (input: RemoteCallInput) => Promise<unknown>>>({
    ...options,
    startToCloseTimeout: timeout + LIMITS.remoteSlack,
    retry: {
      ...options.retry,
      backoffCoefficient: REMOTE_RETRY_GROWTH,
      maximumAttempts: REMOTE_ATTEMPTS,
    },
  })
  const run = activities[activity]
  if (run === undefined) throw new Error(`There is no activity ${activity}.`)
  host.beginAction(Date.now())
  const input = { level, threadId, callId: id, idempotencyKey: idempotencyKeyOf(threadId, id) }
  try {
    await host.cancellable(() => run(input), { by: 'stop' })
  } catch (error) {
    if (!(error instanceof CancelledFailure) && !(error instanceof ActivityFailure)) throw error
    if (endingOf(host.control) !== null) return
  }
  host.update((current) => applyRemoteReturn(current, id))
}

/** After an interruption the state has the cause, and the settle closes the open calls. A failure for good ends the run. */
function applyMissingAnswer(
  host: ThreadHost,
  called: Exclude<Called<StepActivity>, { readonly kind: 'answered' }>,
): void {
  if (called.kind === 'failed') host.update((control) => applyActivityFailure(control, called.failure))
}
