import { findRemoteCall, holdsClaim, isAnswered } from '../../store/calls/remote-calls.js'
import type { RemoteKey, RemoteRecord } from '../../store/calls/remote-calls.js'
import type { Reader } from '../../store/store.js'
import { findThread } from '../../store/threads/threads.js'
import { isOpen } from '../open-thread.js'
import { digestOfToken } from './claim-call.js'
import { RemoteCallError } from './remote-call-error.js'

/** A call, and the token of the claim that holds it. */
export interface HeldRemoteCall extends RemoteKey {
  readonly token: string
}

/** The call that the token holds, or that it has answered. @throws RemoteCallError */
export async function tokensCall(db: Reader, held: HeldRemoteCall): Promise<RemoteRecord> {
  const record = await findRemoteCall(db, held)
  // Whoever has no token learns nothing, not even whether there is such a call.
  if (record === null || !holdsClaim(record, digestOfToken(held.token)))
    throw new RemoteCallError(held, 'token')
  if (isAnswered(record)) return record
  const thread = await findThread(db, held.threadId)
  if (record.state === 'finished' || thread === null || !isOpen(thread))
    throw new RemoteCallError(held, 'ended')
  if ((record.claim?.expiresAt ?? 0) <= Date.now()) throw new RemoteCallError(held, 'token')
  return record
}

/** The call that the token holds and that waits for its answer. @throws RemoteCallError */
export async function heldCall(db: Reader, held: HeldRemoteCall): Promise<RemoteRecord> {
  const record = await tokensCall(db, held)
  if (isAnswered(record)) throw new RemoteCallError(held, 'answered')
  return record
}
