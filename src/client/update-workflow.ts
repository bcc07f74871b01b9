import {
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client'
import { failureTypes } from '../protocol/failures.js'
import type { ClientContext } from './client-context.js'
import { workflowOf } from './thread-workflow.js'
import { isInternal, translate } from './translate.js'

/** An Update of the wire contract; the same id is applied once in a Temporal run. */
export interface ThreadUpdate {
  readonly name: string
  readonly id: string
  readonly input: object
  /** Milliseconds. */
  readonly patience: number
  /** Another call may have sent this id before. @default false */
  readonly repeats?: boolean
}

/** `unknown`: the workflow has no such request or item; `silent`: nobody answered in time; `gone`: no open workflow. */
export type UpdateAnswer = 'accepted' | 'unknown' | 'invalid' | 'silent' | 'gone'

/** What the server answers when the workflow closes with the Update in its hands. */
const CLOSED_MEANWHILE = 'AcceptedUpdateCompletedWorkflow'

export async function updateWorkflow(
  context: ClientContext,
  threadId: string,
  { name, id, input, patience, repeats = false }: ThreadUpdate,
): Promise<UpdateAnswer> {
  const update = () =>
    workflowOf(context, threadId).executeUpdate<unknown, [object]>(name, { updateId: id, args: [input] })
  try {
    await context.call(patience, update)
    return 'accepted'
  } catch (error) {
    if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) return 'silent'
    if (error instanceof WorkflowNotFoundError) return 'gone'
    const refusal = error instanceof WorkflowUpdateFailedError ? refusalOf(error) : undefined
    if (refusal !== undefined) return refusal
    if (repeats && isSpent(error)) return 'unknown'
    throw translate(error, { client: context.temporal(), threadId })
  }
}

/** A reset gives a workflow its Updates again: one that it refuses then is neither open nor ended for the server, and its id is of no more use. */
function isSpent(error: unknown): boolean {
  return error instanceof WorkflowUpdateFailedError || isInternal(error)
}

function refusalOf(error: WorkflowUpdateFailedError): UpdateAnswer | undefined {
  const types = failureTypes(error)
  if (types.has('Request.NotFound') || types.has('Item.NotFound')) return 'unknown'
  if (types.has('Request.Invalid') || types.has('Item.Invalid')) return 'invalid'
  return types.has(CLOSED_MEANWHILE) ? 'gone' : undefined
}
