import { isGrpcServiceError, NamespaceNotFoundError } from '@temporalio/client'
import type { FailureType } from '../protocol/failures.js'
import { isStoreId, STORE_MEMO } from '../protocol/ids.js'
import { LIMITS } from '../protocol/limits.js'
import type { ClientContext } from './client-context.js'
import { translate } from './connection.js'

/** What Temporal knows of a thread. */
export type WorkflowState =
  | OpenState
  /** With Temporal's status; `not_found`: its history is gone, or there was none. */
  | { readonly state: 'closed'; readonly status: string; readonly run: WorkflowRun | null }

interface OpenState {
  readonly state: 'open'
  readonly run: WorkflowRun
  readonly reopened: boolean
  /** Of its workflow task in flight, from 1. */
  readonly attempts: number
  /** The id of the store that its start named; null where it named none, or where a codec hides it. */
  readonly store: string | null
  /** The identity of the worker of another store that has refused its activity last; null where nobody has. */
  readonly refusedBy: string | null
  /** Activities that have failed and are tried again. */
  readonly failing: readonly FailingActivity[]
}

/** What the last attempt at an activity said: a type and a fixed sentence of ours (T5), or Temporal's own words. */
export interface FailingActivity {
  readonly type: string | null
  readonly message: string
  readonly attempts: number
}

/** The last run of a workflow id. */
export interface WorkflowRun {
  readonly id: string
  /** Anybody may use the id of a thread for a workflow of another type. */
  readonly type: string
  readonly taskQueue: string
}

/** In the memo of a thread that was opened again, through continue-as-new. */
export const REOPENED_MEMO = 'reopened'

/** Of Temporal's `WorkflowExecutionStatus`, whose enum is in a package that the client does not load. */
const CLOSED: ReadonlyMap<unknown, string> = new Map([
  [2, 'completed'],
  [3, 'failed'],
  [4, 'canceled'],
  [5, 'terminated'],
  [7, 'timed_out'],
])

/** gRPC's own number. */
const NOT_FOUND = 5

/** Decodes nothing: whoever looks may lack the codec that a thread is stored with. @throws TemporalUnavailableError */
export async function lookAtWorkflow(
  context: ClientContext,
  threadId: string,
  patience: number = LIMITS.temporalCall,
): Promise<WorkflowState> {
  const client = context.temporal()
  const { namespace } = client.options
  const request = { namespace, execution: { workflowId: threadId } }
  try {
    const found = await context.call(patience, () =>
      client.workflowService.describeWorkflowExecution(request),
    )
    const { workflowExecutionInfo: info, pendingWorkflowTask: task, pendingActivities: activities } = found
    const run = {
      id: info?.execution?.runId ?? '',
      type: info?.type?.name ?? '',
      taskQueue: info?.taskQueue ?? '',
    }
    const status = CLOSED.get(info?.status)
    if (status !== undefined) return { state: 'closed', status, run }
    const fields = info?.memo?.fields ?? {}
    return {
      state: 'open',
      run,
      reopened: Object.hasOwn(fields, REOPENED_MEMO),
      attempts: task?.attempt ?? 0,
      store: storeInMemo(fields),
      refusedBy: refusedBy(activities ?? []),
      failing: failingOf(activities ?? []),
    }
  } catch (error) {
    if (!isGrpcServiceError(error) || error.code !== NOT_FOUND) throw translate(error, { client, threadId })
    if (!/^namespace /i.test(error.details)) return { state: 'closed', status: 'not_found', run: null }
    throw translate(new NamespaceNotFoundError(namespace), { client, threadId })
  }
}

/** As raw responses have a payload. */
interface RawPayload {
  readonly metadata?: Readonly<Record<string, Uint8Array>> | null
  readonly data?: Uint8Array | null
}

/** The id of a thread's store, from its memo as Temporal has it; null where none is there, or where a codec hides it. */
export function storeInMemo(fields: Readonly<Record<string, RawPayload>> | null | undefined): string | null {
  const { metadata, data } = fields?.[STORE_MEMO] ?? {}
  if (data == null || Buffer.from(metadata?.['encoding'] ?? []).toString() !== 'json/plain') return null
  const text = Buffer.from(data).toString()
  // Whatever it is that somebody has put there, it is compared and shown: only an id passes.
  const store = /^"(.*)"$/.exec(text)?.[1]
  return isStoreId(store) ? store : null
}

interface RawActivity {
  readonly lastWorkerIdentity?: string | null
  readonly attempt?: number | null
  readonly lastFailure?: {
    readonly message?: string | null
    readonly applicationFailureInfo?: { readonly type?: string | null } | null
  } | null
}

const OTHER_STORE: FailureType = 'Thread.OtherStore'

function failingOf(activities: readonly RawActivity[]): readonly FailingActivity[] {
  return activities.flatMap(({ lastFailure, attempt }) => {
    if (lastFailure == null) return []
    const type = lastFailure.applicationFailureInfo?.type ?? null
    return [{ type, message: lastFailure.message ?? '', attempts: attempt ?? 0 }]
  })
}

function refusedBy(activities: readonly RawActivity[]): string | null {
  const refused = activities.find(
    ({ lastFailure }) => lastFailure?.applicationFailureInfo?.type === OTHER_STORE,
  )
  return refused === undefined ? null : (refused.lastWorkerIdentity ?? '')
}
