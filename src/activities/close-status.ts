import { Context } from '@temporalio/activity'
import { WorkflowNotFoundError } from '@temporalio/common'

/** What Temporal says of a child that is closed or unknown; null while it runs. */
export async function closeStatus(reference: string): Promise<string | null> {
  try {
    const { status } = await Context.current().client.workflow.getHandle(reference).describe()
    return status.name === 'RUNNING' || status.name === 'PAUSED' ? null : status.name.toLowerCase()
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'not_found'
    throw error
  }
}
