import { isGrpcServiceError } from '@temporalio/client'
import { TemporalUnavailableError, ThreadError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { THREAD_WORKFLOW } from '../../protocol/messages.js'
import type { ClientContext } from '../client-context.js'
import { translate } from '../translate.js'
import { lookAtWorkflow } from '../workflow-state.js'

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

/**
 * Those of threads only: their ids are the user's, whose own workflows may have them too. The list follows what happens by
 * a moment: the last run is asked for itself. Nothing is decoded, for the codec of a thread's memo may not be here.
 */
async function runIds(context: ClientContext, threadId: string): Promise<ReadonlySet<string>> {
  const ids = new Set<string>()
  const { run } = await lookAtWorkflow(context, threadId)
  if (run?.type === THREAD_WORKFLOW) ids.add(run.id)
  const id = threadId.replaceAll('\\', '\\\\').replaceAll("'", "\\'")
  const query = `WorkflowId = '${id}' AND WorkflowType = '${THREAD_WORKFLOW}'`
  const { workflowService, options } = context.temporal()
  for (let nextPageToken: Uint8Array = new Uint8Array(); ;) {
    const request = { namespace: options.namespace, query, nextPageToken }
    const page = await context.call(LIMITS.temporalCall, () =>
      workflowService.listWorkflowExecutions(request),
    )
    for (const { execution } of page.executions) if (execution?.runId != null) ids.add(execution.runId)
    nextPageToken = page.nextPageToken
    if (nextPageToken.length === 0) return ids
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
  const cause = TemporalUnavailableError.isInstance(error) ? error.cause : error
  return isGrpcServiceError(cause) && [PERMISSION_DENIED, UNIMPLEMENTED].includes(cause.code)
}
