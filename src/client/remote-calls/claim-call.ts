import { createHash, randomBytes } from 'node:crypto'
import { idempotencyKeyOf } from '../../protocol/ids.js'
import { LIMITS } from '../../protocol/limits.js'
import type { JsonObject } from '../../protocol/values.js'
import { findRemoteCall, isAnswered, putClaim } from '../../store/calls/remote-calls.js'
import type { RemoteKey, RemoteRecord } from '../../store/calls/remote-calls.js'
import { openRemoteVariables } from '../../store/calls/remote-secrets.js'
import type { Writer } from '../../store/store.js'
import { findThread } from '../../store/threads/threads.js'
import type { ClientContext } from '../client-context.js'
import { isOpen } from '../open-thread.js'
import { RemoteCallError } from './remote-call-error.js'

export interface ClaimRemoteCall extends RemoteKey {
  /** Of the worker's own making, another one for each attempt: the same one again is the same claim. */
  readonly claimId: string
  /** Those of the worker: it gets the calls of no other. */
  readonly taskQueues: readonly string[]
}

/** A call as its worker gets it. */
export interface ClaimedCall {
  /** Allows to read and write files of the call, and to answer it; kept nowhere. */
  readonly token: string
  /** Microseconds since 1970: of the tool, and of the token. */
  readonly deadline: number
  readonly expiresAt: number
  readonly tool: string
  /** From 1: how often the call was claimed. */
  readonly attempt: number
  /** The same in every attempt. */
  readonly idempotencyKey: string
  readonly arguments: JsonObject
  readonly variables: Readonly<Record<string, string>>
  /** W3C trace context of the call, for spans of the worker's own; null: nobody traces. */
  readonly traceparent: string | null
}

const TOKEN_BYTES = 32

/**
 * Gives a call to one worker. A tool that is not idempotent is given once; another one again, and the token of the claim
 * before is worth nothing then.
 * @throws RemoteCallError
 */
export async function claimCall(context: ClientContext, claim: ClaimRemoteCall): Promise<ClaimedCall> {
  const { threadId, callId, claimId, taskQueues } = claim
  const store = await context.store()
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const now = Date.now()
  const { record, attempt, variables } = await store.write(async (tx) => {
    const found = await claimable(tx, claim)
    if (!taskQueues.includes(found.taskQueue)) throw new RemoteCallError(claim, 'not_found')
    const again = found.claim?.id === claimId
    if (found.claim !== null && !again && !found.idempotent) throw new RemoteCallError(claim, 'taken')
    const deadline = now + found.timeout
    const put = {
      id: claimId,
      tokenDigest: digestOfToken(token),
      deadline,
      expiresAt: deadline + LIMITS.remoteSlack,
    }
    // Before the claim is there: where the key is missing, nobody has taken the call.
    const opened = openRemoteVariables(store.secrets, claim, found).map(({ name, value }) => [name, value])
    await putClaim(tx, claim, { record: found, claim: put })
    const attempt = again ? found.attempt : found.attempt + 1
    return { record: { ...found, claim: put }, attempt, variables: opened }
  })
  return {
    token,
    deadline: record.claim.deadline * 1000,
    expiresAt: record.claim.expiresAt * 1000,
    tool: record.tool,
    attempt,
    idempotencyKey: idempotencyKeyOf(threadId, callId),
    arguments: record.args,
    variables: Object.fromEntries(variables) as Record<string, string>,
    traceparent: record.traceparent,
  }
}

async function claimable(tx: Writer, key: RemoteKey): Promise<RemoteRecord> {
  const record = await findRemoteCall(tx, key)
  if (record === null) throw new RemoteCallError(key, 'not_found')
  const thread = await findThread(tx, key.threadId)
  if (isAnswered(record)) throw new RemoteCallError(key, 'answered')
  if (record.state === 'finished' || thread === null || !isOpen(thread))
    throw new RemoteCallError(key, 'ended')
  return record
}

export function digestOfToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
