import { RequestNotFoundError } from '../protocol/errors.js'
import { listRequests } from '../store/calls/request-lists.js'
import { findRequest, isDropped } from '../store/calls/requests.js'
import type { Reader } from '../store/store.js'
import type { ClientContext } from './client-context.js'
import { knownThread } from './open-thread.js'
import { pendingRequest } from './pending-request.js'
import type { PendingRequest } from './pending-request.js'

/** Why it does not wait. */
const GONE = {
  unknown: 'no request of this id',
  open: 'one whose thread has ended',
  answered: 'one that was answered',
  closed: 'one that was ended',
  early: 'one that was answered before its call asked',
  dropped: 'one that was answered early, and whose call ended without asking',
} as const

/** One request that waits for its answer. @throws ThreadNotFoundError, RequestNotFoundError */
export async function findPendingRequest(
  context: ClientContext,
  { threadId, requestId }: { readonly threadId: string; readonly requestId: string },
): Promise<PendingRequest> {
  const store = await context.store()
  return store.read(async (db) => {
    await knownThread(db, threadId)
    const page = await listRequests(db, { filter: { threadId, id: requestId }, limit: 1 })
    const [listed] = page.requests
    if (listed === undefined)
      throw new RequestNotFoundError(threadId, {
        id: requestId,
        reason: GONE[await fateOf(db, threadId, requestId)],
      })
    return pendingRequest(listed)
  })
}

async function fateOf(db: Reader, threadId: string, id: string): Promise<keyof typeof GONE> {
  const request = await findRequest(db, threadId, id)
  if (request === null) return 'unknown'
  return (await isDropped(db, request)) ? 'dropped' : request.status
}
