import { listRequests } from '../store/list-requests.js'
import type { RequestCursor } from '../store/list-requests.js'
import type { ClientContext } from './client-context.js'
import { pendingRequest } from './pending-request.js'
import type { PendingRequest } from './pending-request.js'

const PAGE = 100

type RequestPage = Awaited<ReturnType<typeof listRequests>>

/** Of which threads; nothing said is all. */
export interface ListPending {
  readonly agent?: string
  readonly userId?: string
}

/** Oldest first; a page is read when the one before is used up. */
export async function* pendingRequests(
  context: ClientContext,
  filter: ListPending,
): AsyncGenerator<PendingRequest & { readonly threadId: string }, void, undefined> {
  const store = await context.store()
  let after: RequestCursor | null = null
  do {
    const cursor: RequestCursor | null = after
    const page: RequestPage = await store.read((db) =>
      listRequests(db, { filter, after: cursor, limit: PAGE }),
    )
    for (const listed of page.requests)
      yield { ...pendingRequest(listed), threadId: listed.request.thread_id }
    after = page.next
  } while (after !== null)
}
