import { WorkflowNotFoundError, isGrpcServiceError } from '@temporalio/client'

import { LIMITS } from '../../protocol/limits.js'
import { ThreadError } from '../../protocol/thread-error.js'
import type { ClientContext } from '../client-context.js'
import { workflowOf } from '../thread-workflow.js'
import { translate } from '../translate.js'

/** gRPC's own numbers. */
const NOT_FOUND = 5
const PERMISSION_DENIED = 7
const UNIMPLEMENTED = 12

/**
 * Deletes what Temporal has of a closed thread, all runs of it. Answers why it kept something, or null; deleting is done
 * by the server in its own time. @throws TemporalUnavailableError
 */
export async function deleteHistories(context: ClientContext, threadId: string): Promise<string | null> {
  try {
    for (const runId of await runIds(context, threadId)) await deleteRun(context, threadId, runId)
    return null
  } catch (error) {
    const translated = translate(error, { client: context.temporal(), threadId })
    if (!isRefused(error)) throw translated
    return ThreadError.isInstance(translated) ? translated.message : 'The server does not delete histories.'
  }
}

/** The list follows what happens by a moment: the last run is asked for itself. */
async function runIds(context: ClientContext, threadId: string): Promise<ReadonlySet<string>> {
  const ids = new Set<string>()
  const last = await lastRunId(context, threadId)
  if (last !== null) ids.add(last)
  const query = `WorkflowId = '${threadId.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  await context.call(LIMITS.temporalCall, async () => {
    for await (const { runId } of context.temporal().workflow.list({ query })) ids.add(runId)
  })
  return ids
}

async function lastRunId(context: ClientContext, threadId: string): Promise<string | null> {
  try {
    return (await context.call(LIMITS.temporalCall, () => workflowOf(context, threadId).describe())).runId
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null
    throw error
  }
}

async function deleteRun(context: ClientContext, threadId: string, runId: string): Promise<void> {
  const client = context.temporal()
  const { namespace } = client.options
  const workflowExecution = { workflowId: threadId, runId }
  try {
    await context.call(LIMITS.temporalCall, () =>
      client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution }),
    )
  } catch (error) {
    if (!isGrpcServiceError(error) || error.code !== NOT_FOUND) throw error
  }
}

/** By whoever runs the server; everything else may be better next time. */
function isRefused(error: unknown): boolean {
  return isGrpcServiceError(error) && [PERMISSION_DENIED, UNIMPLEMENTED].includes(error.code)
}
