import type { DrainItem } from '../protocol/activities.js'
import { LIMITS } from '../protocol/limits.js'
import { modelOf } from '../protocol/plan.js'
import { planOf } from '../thread/advance.js'
import { terminationFound } from '../thread/apply.js'
import { modelAnswered, modelAsked } from '../thread/model-answers.js'
import type { QueueEntry } from '../thread/control.js'
import type { Action } from '../thread/next-action.js'
import { taskQueueOf } from '../thread/task-queues.js'
import { turnLeft } from '../thread/turns.js'
import { callActivity, notAnswered } from './call-activity.js'
import type { ThreadHost } from './thread-host.js'

/** Phases 1 to 4 of a step: the queue as it is now goes into it, and what arrives meanwhile waits for the next one. */
export async function callModel(
  host: ThreadHost,
  action: Extract<Action, { readonly kind: 'callModel' }>,
): Promise<void> {
  const { run, side, asked, toolFirst, drain, response } = action
  // A message made the other side act.
  if (side !== run.side) host.update((control) => turnLeft(control, null))
  host.update((control) => modelAsked(control, drain))
  const { control } = host
  const plan = run.planned ? planOf(control) : null
  const called = await callActivity(host, {
    name: 'callModel',
    limit: LIMITS.modelCall,
    summary: `${control.agent}: step ${run.steps + 1}${plan === null ? '' : `, model ${modelOf(plan, side)}`}`,
    cutBy: 'stop',
    taskQueue: taskQueueOf(control, action),
    input: {
      step: run.steps + 1,
      side,
      agent: control.agent,
      plan: plan?.digest ?? null,
      knownPlan: control.plan?.digest ?? null,
      toolFirst,
      frame: null,
      trigger: run.steps === 0 && !run.begun ? run.trigger : null,
      sideStarts: run.sideStarts || side !== run.side,
      asked,
      // A queued tool goes first: the step behind it looks.
      activated: toolFirst || control.activated.includes(side),
      wordless: run.wordless && side === run.side,
      drain: drain.flatMap(drainItem),
      start: control.registered ? null : control.start,
      createdAt: control.createdAt,
      ...(run.activations !== undefined && { activations: run.activations }),
      ...(run.moved === true && { moved: true }),
      ...(response !== undefined && { response }),
    },
  })
  if (called.kind !== 'answered') return notAnswered(host, called)
  const { answer } = called
  host.update((current) =>
    answer.type === 'terminated'
      ? terminationFound(current)
      : modelAnswered(current, action, answer, Date.now()),
  )
}

function drainItem(entry: QueueEntry): DrainItem[] {
  if (entry.kind === 'child_closed') {
    const { kind, id, reference, status } = entry
    return [{ kind, id, reference, status }]
  }
  if (entry.kind === 'group') return [{ kind: 'group', id: entry.id }]
  if (entry.kind !== 'message' && entry.kind !== 'report') return []
  const inline = entry.kind === 'message' ? entry.inline : undefined
  return [{ kind: 'message', id: entry.id, ...(inline === undefined ? {} : { inline }) }]
}
