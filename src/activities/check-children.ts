import { Context } from '@temporalio/activity'
import { WorkflowNotFoundError } from '@temporalio/common'
import type { CheckChildrenAnswer, CheckChildrenInput } from '../protocol/end-activities.js'
import { whileBeating } from './beat.js'

/** Looks for children whose close event can no longer reach their parent (T7). */
export async function checkChildren(input: CheckChildrenInput): Promise<CheckChildrenAnswer> {
  return whileBeating(async () => {
    const closed: { reference: string; status: string }[] = []
    for (const reference of input.references) {
      const status = await closeStatus(reference)
      if (status !== null) closed.push({ reference, status })
    }
    return { type: 'checked', closed }
  })
}

/** Null while it runs. */
async function closeStatus(reference: string): Promise<string | null> {
  try {
    const { status } = await Context.current().client.workflow.getHandle(reference).describe()
    return status.name === 'RUNNING' || status.name === 'PAUSED' ? null : status.name.toLowerCase()
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'not_found'
    throw error
  }
}
