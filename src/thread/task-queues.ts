/** Where the activity of an action is scheduled, if not on the thread's own task queue; names of the plan only (T5). */
import { actualSide, sidePlanOf } from '../protocol/plan.js'
import type { Plan, Side } from '../protocol/plan.js'
import type { ThreadControl } from './control.js'
import type { Action } from './next-action.js'

export function taskQueueOf(control: ThreadControl, action: Action): string | null {
  switch (action.kind) {
    case 'callModel':
      // Only the run's row and plan: no model is asked.
      return action.toolFirst ? null : sideQueue(control, action.side)
    case 'callPrompt':
      return promptQueue(control.plan, action.frame.prompt)
    case 'executeTool':
      return action.tool?.kind === 'function' ? (action.tool.taskQueue ?? null) : null
    case 'runRemote':
      return action.call.remote.taskQueue
    default:
      return null
  }
}

/** Before a run's plan is known that of the last run stands in: the activity says if it is another one. */
function sideQueue({ plan }: ThreadControl, side: Side): string | null {
  return plan === null ? null : promptQueue(plan, sidePlanOf(plan, actualSide(plan, side)).prompt)
}

/** A prompt that the plan does not have runs on the thread's own. */
function promptQueue(plan: Plan | null, prompt: string): string | null {
  if (plan === null || !Object.hasOwn(plan.prompts, prompt)) return null
  return plan.prompts[prompt]?.taskQueue ?? null
}
