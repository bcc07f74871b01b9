/**
 * Whether a call may run. It asks before its operation is `started`, so a call that waited, for minutes or weeks, is never
 * `unknown` (T4). The row of the request holds the decision and the digest of the arguments that were shown: others ask
 * again. Words in the conversation decide nothing.
 */
import type { ExecuteToolInput, PendingAnswer } from '../../protocol/activities.js'
import type { JsonValue } from '../../protocol/json.js'
import { digestOf } from '../../store/digest.js'
import type { OperationRecord } from '../../store/operations.js'
import { requestsOfCall } from '../../store/pending.js'
import type { PendingRecord } from '../../store/pending.js'
import type { Store } from '../../store/store.js'
import type { ToolCallRecord } from '../../store/tool-calls.js'

/** How far a call has come with being allowed. */
export type Permission =
  /** It has begun or needs none: the operation's row says what follows. */
  | { readonly kind: 'begun' }
  | { readonly kind: 'granted' }
  | { readonly kind: 'never_asked' }
  | { readonly kind: 'waiting'; readonly answer: PendingAnswer }
  | { readonly kind: 'denied'; readonly attempt: number; readonly reason: string | null }
  /** The arguments are no longer those that were shown. */
  | { readonly kind: 'outdated'; readonly asked: number }

interface Asking {
  readonly input: ExecuteToolInput
  readonly row: ToolCallRecord
  readonly operation: OperationRecord | null
}

export async function permissionOf(store: Store, { input, row, operation }: Asking): Promise<Permission> {
  const { threadId, callId, response } = input
  if (operation === null) return { kind: 'never_asked' }
  if (operation.state !== 'waiting') return { kind: 'begun' }
  const ofCall = await store.read((db) => requestsOfCall(db, threadId, callId))
  const requests = ofCall.filter(({ kind }) => kind === 'approval')
  const asked = requests.length
  const request = requests.find(({ id }) => id === approvalId(callId, asked))
  if (request === undefined) return { kind: 'never_asked' }
  // The workflow goes on from an answer only when it has heard of it; a retry of the activity that asked has not.
  const decided = response?.requestId === request.id ? decisionOf(request, response.approved) : null
  if (decided === null) return { kind: 'waiting', answer: approvalAnswer(request.id) }
  if (!decided) return { kind: 'denied', attempt: operation.attempt, reason: request.reason }
  return request.digest === argumentsDigest(row) ? { kind: 'granted' } : { kind: 'outdated', asked }
}

/** The row's own decision; else that of a bare update; null if there is none. */
function decisionOf({ status, approved }: PendingRecord, said: boolean | undefined): boolean | null {
  if (status === 'open') return said ?? null
  // An answer without a yes allows nothing.
  return status === 'answered' && approved === true
}

/** `approval_<call>`, then `approval_<call>_2` and so on. */
export function approvalId(callId: string, number: number): string {
  return number === 1 ? `approval_${callId}` : `approval_${callId}_${number}`
}

export function approvalAnswer(requestId: string): PendingAnswer {
  return {
    type: 'pending',
    requestId,
    kind: 'approval',
    status: 'waiting_permission',
    next: 'execute',
  }
}

/** Of what the model wrote, which is what is shown; broken JSON never gets as far as a request. */
export function argumentsDigest({ arguments: text }: ToolCallRecord): string {
  return digestOf(text.trim() === '' ? {} : (JSON.parse(text) as JsonValue))
}
