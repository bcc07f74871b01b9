import { QueryRejectedError, WorkflowClient, WorkflowNotFoundError } from '@temporalio/client'
import type { Client } from '@temporalio/client'
import { LIMITS } from '../protocol/limits.js'
import { QUERIES } from '../protocol/messages.js'
import type { ControlSnapshot } from '../protocol/status.js'
import type { ClientContext } from './client-context.js'

/** `gone`: Temporal has no open workflow of this id. `silent`: nobody answered in time, for whatever reason. */
export type SnapshotAnswer =
  | { readonly kind: 'answered'; readonly snapshot: ControlSnapshot }
  | { readonly kind: 'gone' }
  | { readonly kind: 'silent' }

/** Asks the workflow itself, which sees every acknowledged signal; without a worker the server would try for 30 s. */
export async function querySnapshot(
  context: ClientContext,
  threadId: string,
  patience: number = LIMITS.snapshotQuery,
): Promise<SnapshotAnswer> {
  const client = context.temporal()
  const query = () => openOnly(client).getHandle(threadId).query<ControlSnapshot>(QUERIES.snapshot)
  try {
    return { kind: 'answered', snapshot: await context.call(patience, query) }
  } catch (error) {
    return { kind: isGone(error) ? 'gone' : 'silent' }
  }
}

/** Of Temporal's `WorkflowExecutionStatus`, whose enum is in a package that the client does not load. */
const CONTINUED_AS_NEW = 6

/** A run that continued as new while it was asked has a successor: it is not gone. */
function isGone(error: unknown): boolean {
  if (error instanceof WorkflowNotFoundError) return true
  return error instanceof QueryRejectedError && error.status !== CONTINUED_AS_NEW
}

const openOnlyClients = new WeakMap<Client, WorkflowClient>()

/** A closed workflow would be replayed to answer with its last state, as if it still ran. */
function openOnly(client: Client): WorkflowClient {
  const known = openOnlyClients.get(client)
  if (known !== undefined) return known
  const made = new WorkflowClient({
    ...client.workflow.options,
    connection: client.connection,
    queryRejectCondition: 'NOT_OPEN',
  })
  openOnlyClients.set(client, made)
  return made
}
