import { listRequests } from '../../store/calls/request-lists.js'
import type { ListedRequest, RequestCursor } from '../../store/calls/request-lists.js'
import { pendingRequest } from '../answers/pending-request.js'
import type { PendingRequest } from '../answers/pending-request.js'
import type { ClientContext } from '../client-context.js'
import { cursorOf, pageLimit, readCursor } from './list-threads.js'
import type { PageOptions } from './list-threads.js'

const PAGE = 100

type RequestPage = Awaited<ReturnType<typeof listRequests>>

/** Of which threads; nothing said is all. */
export interface ListPending {
  readonly agent?: string
  readonly userId?: string
  /** The tenant. */
  readonly account?: string
  readonly threadId?: string
  /** Thread id of a root: of all threads of its tree, its subagents' too. */
  readonly root?: string
}

/** A request, and the thread whose it is. */
export type ThreadRequest = PendingRequest & { readonly threadId: string }

/** Open requests of one page, oldest first. */
export interface PendingPage {
  readonly requests: readonly ThreadRequest[]
  /** `cursor` of the next page; null on the last one. */
  readonly next: string | null
}

/** Oldest first; a page is read when the one before is used up. */
export async function* pendingRequests(
  context: ClientContext,
  filter: ListPending,
): AsyncGenerator<ThreadRequest, void, undefined> {
  const store = await context.store()
  let after: RequestCursor | null = null
  do {
    const cursor: RequestCursor | null = after
    const page: RequestPage = await store.read((db) =>
      listRequests(db, { filter, after: cursor, limit: PAGE }),
    )
    yield* page.requests.map(threadRequest)
    after = page.next
  } while (after !== null)
}

/** @throws ConfigError for a cursor that is none, or a limit that cannot be */
export async function pageOfPending(
  context: ClientContext,
  filter: ListPending,
  { cursor, limit }: PageOptions,
): Promise<PendingPage> {
  const after = cursor === undefined ? null : requestCursor(cursor)
  const size = pageLimit(limit)
  const store = await context.store()
  const { requests, next } = await store.read((db) => listRequests(db, { filter, after, limit: size }))
  return {
    requests: requests.map(threadRequest),
    next: next === null ? null : cursorOf([next.requestedAt, next.threadId, next.id]),
  }
}

function requestCursor(cursor: string): RequestCursor {
  const [requestedAt, threadId, id] = readCursor(cursor, ['number', 'string', 'string'])
  return { requestedAt: Number(requestedAt), threadId: String(threadId), id: String(id) }
}

function threadRequest(listed: ListedRequest): ThreadRequest {
  return { ...pendingRequest(listed), threadId: listed.request.thread_id }
}
