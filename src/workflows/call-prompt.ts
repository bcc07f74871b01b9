import { LIMITS } from '../protocol/limits.js'
import { planOf } from '../thread/advance.js'
import { terminationFound } from '../thread/apply.js'
import { frameAnswered, frameBegins } from '../thread/call-answers.js'
import { placeInStep } from '../thread/calls.js'
import type { Action } from '../thread/next-action.js'
import { taskQueueOf } from '../thread/task-queues.js'
import { callActivity, notAnswered } from './call-activity.js'
import type { ThreadHost } from './thread-host.js'

/** The nested step of a prompt that was called as a tool: its model call; its calls are on top of that call then. */
export async function callPrompt(
  host: ThreadHost,
  action: Extract<Action, { readonly kind: 'callPrompt' }>,
): Promise<void> {
  const { step, call, frame } = action
  host.update(frameBegins)
  const { control } = host
  const { digest } = planOf(control)
  const called = await callActivity(host, {
    name: 'callModel',
    limit: LIMITS.modelCall,
    summary: `${control.agent}: prompt ${frame.prompt}`,
    cutBy: 'stop',
    taskQueue: taskQueueOf(control, action),
    input: {
      step: step.number,
      side: step.side,
      agent: control.agent,
      plan: digest,
      knownPlan: digest,
      toolFirst: false,
      frame: placeInStep(step, call).isLast ? { ...frame, last: true } : frame,
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
  if (called.kind !== 'answered') return notAnswered(host, called)
  const { answer } = called
  host.update((current) =>
    answer.type === 'terminated'
      ? terminationFound(current)
      : frameAnswered(current, frame, answer, Date.now()),
  )
}
