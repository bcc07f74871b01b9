import { LIMITS } from '../../protocol/limits.js'
import { THREAD_WORKFLOW } from '../../protocol/messages.js'
import { ownTaskQueue } from '../../store/store-location.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import type { ClientContext } from '../client-context.js'
import { translate } from '../connection.js'
import { storeInMemo } from '../workflow-state.js'
import type { WorkflowState } from '../workflow-state.js'
import { left } from './finding.js'
import type { Finding } from './finding.js'

/** Of open threads on the task queue: enough to see a mix-up, and one call. */
const LOOKED_AT = 1_000

/** Open threads of other stores on the task queue of this one: the workers of each get the work of the other. */
export async function checkOtherStores(context: ClientContext): Promise<readonly Finding[]> {
  const { id } = await context.store()
  const taskQueue = await context.taskQueue()
  const counts = new Map<string, number>()
  for (const store of await storesOnQueue(context, taskQueue))
    if (store !== null && store !== id) counts.set(store, (counts.get(store) ?? 0) + 1)
  return [...counts].map(([store, count]) => {
    const problem = `${count} open threads on the task queue "${taskQueue}" belong to the store ${store}, and this store is ${id}`
    return left({ kind: 'other_store', threadId: null, problem }, apart(id))
  })
}

/** Decodes nothing: whoever looks may lack the codec, and a store that a codec hides is passed over. */
async function storesOnQueue(context: ClientContext, taskQueue: string): Promise<readonly (string | null)[]> {
  const client = context.temporal()
  const { namespace } = client.options
  const query = `WorkflowType = '${THREAD_WORKFLOW}' AND ExecutionStatus = 'Running' AND TaskQueue = '${quoted(taskQueue)}'`
  try {
    const { executions } = await context.call(LIMITS.temporalCall, () =>
      client.workflowService.listWorkflowExecutions({ namespace, query, pageSize: LOOKED_AT }),
    )
    return (executions ?? []).map(({ memo }) => storeInMemo(memo?.fields))
  } catch (error) {
    // Of no thread.
    throw translate(error, { client, threadId: '' })
  }
}

function quoted(text: string): string {
  return text.replaceAll("'", "''")
}

/** A thread of this database that the workers of another store carry out: a repair from here would disturb them. */
export function checkOwner(
  storeId: string,
  { id: threadId }: ThreadRecord,
  workflow: Extract<WorkflowState, { readonly state: 'open' }>,
): Finding | null {
  const { store } = workflow
  if (store === null || store === storeId) return null
  const problem = `Its workflow belongs to the store ${store}, and this store is ${storeId}`
  return left(
    { kind: 'other_store', threadId, problem },
    'The workers of that store go on with it. If there is no such store any more, terminate the workflow in Temporal, ' +
      'then reopen the thread.',
  )
}

/** A worker of another store polls the task queue of the thread; one of this store takes the work soon, if there is one. */
export function checkRefusal(
  storeId: string,
  { id: threadId }: ThreadRecord,
  { refusedBy, run }: Extract<WorkflowState, { readonly state: 'open' }>,
): Finding | null {
  if (refusedBy === null) return null
  const problem = `The worker ${refusedBy} has another store than ${storeId}, polls the task queue "${run.taskQueue}" and has refused its work`
  return left({ kind: 'other_store', threadId, problem }, `Start a worker of this store. ${apart(storeId)}`)
}

function apart(storeId: string): string {
  return (
    'If both are one project, give all its workers and clients the same EVERTHREAD_DATABASE_URL; if not, give each project ' +
    `a task queue of its own (without EVERTHREAD_TASK_QUEUE that of this store is "${ownTaskQueue(storeId)}").`
  )
}
