import { Context } from '@temporalio/activity'
import type { CallModelAnswer, CallModelInput } from '../../protocol/activities.js'
import { actualSide } from '../../protocol/plan.js'
import type { ActivityDependencies } from '../dependencies.js'
import { promptOf } from '../plan-content.js'
import { planOfStep } from './drain-step.js'

/**
 * Before the first step of a run the workflow has no plan of it, and may have asked on another task queue than that of
 * the model. Nothing is done then: it asks again, once, with this plan.
 */
export async function movedModel(
  dependencies: ActivityDependencies,
  asked: CallModelInput,
): Promise<CallModelAnswer | null> {
  if (asked.plan !== null || asked.moved === true) return null
  const content = await planOfStep(dependencies, asked)
  if (content === null) return null
  const { plan } = content
  const { taskQueue } = plan.prompts[promptOf(content, actualSide(plan, asked.side)).name] ?? {}
  const isHere = taskQueue === undefined || taskQueue === Context.current().info.taskQueue
  return isHere ? null : { type: 'moved', plan }
}
