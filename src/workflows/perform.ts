import { LIMITS } from '../protocol/limits.js'
import type {
  CallInput,
  DrainItem,
  EndAnswer,
  ResultAnswer,
  TerminatedAnswer,
} from '../protocol/activities.js'
import { toolPlanOf } from '../protocol/plan.js'
import {
  activityFailed,
  callAnswered,
  childPrepared,
  modelAnswered,
  runEnded,
  terminationFound,
} from '../thread/apply.js'
import { planOf } from '../thread/advance.js'
import type { QueueEntry } from '../thread/control.js'
import type { Action } from '../thread/next-action.js'
import { callActivity } from './call-activity.js'
import type { Called } from './call-activity.js'
import { announceReport, cancelChild, startChildThread, stopChildThread } from './child-threads.js'
import { deliverReport, settle } from './settle.js'
import type { ThreadHost } from './thread-host.js'
import { waitForSomething } from './wait.js'

type Kind<K extends Action['kind']> = Extract<Action, { readonly kind: K }>

/** Carries out one action and applies what came of it. */
export async function perform(
  host: ThreadHost,
  action: Exclude<Action, { readonly kind: 'close' }>,
): Promise<void> {
  switch (action.kind) {
    case 'wait':
    case 'awaitChild':
      return waitForSomething(host, action)
    case 'callModel':
      return callModel(host, action)
    case 'executeTool':
      return executeTool(host, action)
    case 'prepareChild':
      return prepareChild(host, action)
    case 'startChild':
      return startChildThread(host, action.call)
    case 'stopChild':
      return stopChildThread(host, action.call)
    case 'completeCall':
      return completeCall(host, action)
    case 'deliverReport':
      return deliverReport(host, action.ending)
    case 'announceReport':
      return announceReport(host, action.messageId)
    case 'settle':
      return settle(host, action)
    case 'cancelChild':
      return cancelChild(host, action.reference)
  }
}

async function callModel(host: ThreadHost, { run, side, drain }: Kind<'callModel'>): Promise<void> {
  const { control } = host
  const plan = run.planned ? planOf(control) : null
  const called = await callActivity(host, {
    name: 'callModel',
    limit: LIMITS.modelCall,
    summary: `${control.agent}: step ${run.steps + 1}${plan === null ? '' : `, model ${plan.sides[side]?.model ?? ''}`}`,
    cancellable: true,
    input: {
      step: run.steps + 1,
      side,
      agent: control.agent,
      plan: plan?.digest ?? null,
      knownPlan: control.plan?.digest ?? null,
      trigger: run.steps === 0 ? run.trigger : null,
      sideStarts: run.sideStarts || side !== run.side,
      wordless: run.wordless,
      drain: drain.flatMap(drainItem),
      start: control.registered ? null : control.start,
      createdAt: control.createdAt,
    },
  })
  if (called.kind !== 'answered') return notAnswered(host, called)
  const { answer } = called
  host.update((current) =>
    answer.type === 'terminated'
      ? terminationFound(current)
      : modelAnswered(current, { side, drain }, answer),
  )
}

function drainItem(entry: QueueEntry): DrainItem[] {
  if (entry.kind === 'continue') return []
  if (entry.kind === 'child_closed') {
    const { kind, id, reference, status } = entry
    return [{ kind, id, reference, status }]
  }
  const inline = entry.kind === 'message' ? entry.inline : undefined
  return [{ kind: 'message', id: entry.id, ...(inline === undefined ? {} : { inline }) }]
}

async function executeTool(host: ThreadHost, action: Kind<'executeTool' | 'prepareChild'>): Promise<void> {
  const tool = toolPlanOf(planOf(host.control), action.step.side, action.call.name)
  const called = await callActivity(host, {
    name: 'executeTool',
    limit: tool?.kind === 'function' ? tool.timeout : LIMITS.toolTimeout,
    summary: `tool ${tool === undefined ? '(unknown)' : action.call.name}`,
    cancellable: true,
    input: callInput(host, action),
  })
  applyResult(host, action.call.id, called)
}

async function prepareChild(host: ThreadHost, action: Kind<'executeTool' | 'prepareChild'>): Promise<void> {
  const called = await callActivity(host, {
    name: 'prepareChild',
    limit: 0,
    summary: `prepare ${action.call.name}`,
    cancellable: false,
    input: { ...callInput(host, action), children: host.control.childrenInAll },
  })
  if (called.kind === 'answered' && called.answer.type === 'child') {
    const { answer } = called
    return host.update((control) => childPrepared(control, action.call.id, answer))
  }
  applyResult(host, action.call.id, called)
}

async function completeCall(host: ThreadHost, action: Kind<'completeCall'>): Promise<void> {
  const { reference, report } = action.call
  const called = await callActivity(host, {
    name: 'completeCall',
    limit: 0,
    summary: `complete ${action.call.name}`,
    cancellable: false,
    input: { ...callInput(host, action), reference, report },
  })
  applyResult(host, action.call.id, called)
}

function callInput(
  { control }: ThreadHost,
  { run, step, call }: Pick<Kind<'executeTool' | 'prepareChild'>, 'run' | 'step' | 'call'>,
): Omit<CallInput, 'level' | 'threadId' | 'now' | 'run' | 'facts'> {
  const index = step.calls.findIndex((candidate) => candidate.id === call.id)
  return {
    step: step.number,
    side: step.side,
    agent: control.agent,
    plan: planOf(control).digest,
    callId: call.id,
    name: call.name,
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

/** A cut needs nothing: the state says why, and the settle closes what is open. */
function notAnswered(host: ThreadHost, called: { readonly kind: 'cut' | 'failed' }): void {
  if (called.kind === 'failed') host.update(activityFailed)
}
