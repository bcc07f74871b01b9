import { ConfigError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { ForkedFrom } from '../../protocol/payloads/lifecycle.js'
import type { ThreadStatus } from '../../protocol/status.js'
import { listAgents } from '../../store/agents.js'
import type { AgentRecord } from '../../store/agents.js'
import { listRequests } from '../../store/calls/request-lists.js'
import type { ListedRequest, RequestCursor } from '../../store/calls/request-lists.js'
import {
  countThreads,
  findThread,
  forkedFromOf,
  listThreads,
  showThreads,
} from '../../store/threads/threads.js'
import type { ThreadCursor, ThreadRecord } from '../../store/threads/threads.js'
import type { Reader } from '../../store/store.js'
import { toPendingRequest } from '../answers/pending-request.js'
import type { PendingRequest } from '../answers/pending-request.js'
import type { ClientContext } from '../client-context.js'

/** The default number of rows of a page: they fill a screen. */
const ROWS_OF_PAGE = 50

const PAGE = 100

type ThreadPage = Awaited<ReturnType<typeof readPage>>

/** The filter of a list of threads; a field that is left out matches all. */
export interface ListThreads {
  readonly agent?: string
  readonly status?: ThreadStatus
  readonly userId?: string
  /** The thread id of the parent; null: root threads only. @default all */
  readonly parent?: string | null
  /** The thread id of a root, for all threads of its tree, also the root. */
  readonly root?: string
  readonly tag?: string
  /** The tenant. Subagents have the account of their root. */
  readonly account?: string
  /** A text that the title, the id, the agent or the user contains; ASCII letters in either case. It reads all threads that match the rest. */
  readonly search?: string
}

/** A thread in a list, as the store has it. Times are microseconds since 1970. */
export interface ThreadSummary {
  readonly threadId: string
  readonly agent: string
  readonly status: ThreadStatus
  readonly userId: string | null
  /** The tenant; a subagent has the account of its root. */
  readonly account: string | null
  /** Thread id of the parent; null for a root thread. */
  readonly parent: string | null
  /** Thread id of the root of its tree; its own id for a root thread. */
  readonly root: string
  /** Where a fork has its transcript from; null for a thread that is no fork. */
  readonly forkedFrom: ForkedFrom | null
  readonly title: string | null
  /** The first 200 characters of its first message, if that is a user's; null until it is delivered. */
  readonly opening: string | null
  readonly tags: readonly string[]
  readonly createdAt: number
  /**
   * Exact at the end of a run; up to a minute behind during a run, and up to a second after a message that follows
   * another one.
   */
  readonly lastActivityAt: number
  /** When it closed; null while it is open. */
  readonly closedAt: number | null
  /** The sequence of its newest event: `events({ after })` goes on from here. */
  readonly lastSequence: number
}

/** Lists threads, the newest activity first; a page is read when the one before is used up. */
export async function* summarizeThreads(
  context: ClientContext,
  filter: ListThreads,
): AsyncGenerator<ThreadSummary, void, undefined> {
  const store = await context.store()
  let after: ThreadCursor | null = null
  do {
    const cursor: ThreadCursor | null = after
    const page: ThreadPage = await store.read((db) => readPage(db, { filter, after: cursor, limit: PAGE }))
    yield* page.threads
    after = page.next
  } while (after !== null)
}

/** One page of threads, the newest activity first. */
export interface ThreadsPage {
  readonly threads: readonly ThreadSummary[]
  /** `cursor` of the next page; null on the last one. */
  readonly next: string | null
}

/** @throws ConfigError for a cursor that is none, or a limit that cannot be */
export async function listThreadsPage(
  context: ClientContext,
  filter: ListThreads,
  { cursor, limit }: PageOptions,
): Promise<ThreadsPage> {
  const after = cursor === undefined ? null : readThreadCursor(cursor)
  const size = checkLimit(limit)
  const store = await context.store()
  const { threads, next } = await store.read((db) => readPage(db, { filter, after, limit: size }))
  return {
    threads,
    next: next === null ? null : cursorOf([next.lastActivityAt, next.id]),
  }
}

export function readThreadCursor(cursor: string): ThreadCursor {
  const [lastActivityAt, id] = readCursor(cursor, ['number', 'string'])
  return { lastActivityAt: Number(lastActivityAt), id: String(id) }
}

/** The number of threads by status. */
export interface ThreadCounts {
  /** A status that no thread has is left out. */
  readonly counts: Readonly<Partial<Record<ThreadStatus, number>>>
  /** True: there are more than the 10,000 threads with the newest activity, which are counted. */
  readonly more: boolean
}

/** Counting reads a row of an index for each thread: some ten milliseconds for so many. */
const COUNTED_THREADS = 10_000

export async function countThreadsByStatus(
  context: ClientContext,
  filter: ListThreads,
): Promise<ThreadCounts> {
  const store = await context.store()
  return store.read((db) => countThreads(db, { filter, most: COUNTED_THREADS }))
}

/** Reads a thread; null if the store has no such thread. */
export async function findSummary(context: ClientContext, threadId: string): Promise<ThreadSummary | null> {
  const store = await context.store()
  return store.read(async (db) => {
    const thread = await findThread(db, threadId)
    const [shown] = thread === null ? [] : await showThreads(db, [thread])
    return shown === undefined ? null : toThreadSummary(shown)
  })
}

/** To whom a thread belongs, and what is above it. */
export interface ThreadOwner {
  readonly account: string | null
  readonly parent: string | null
}

/** Reads what a server asks before each request, in one statement; null if the store has no such thread. */
export async function findOwner(context: ClientContext, threadId: string): Promise<ThreadOwner | null> {
  const store = await context.store()
  const thread = await store.read((db) => findThread(db, threadId))
  return thread === null ? null : { account: thread.account, parent: thread.parent_thread_id }
}

async function readPage(db: Reader, list: Parameters<typeof listThreads>[1]) {
  const { threads, next } = await listThreads(db, list)
  return { threads: (await showThreads(db, threads)).map(toThreadSummary), next }
}

function toThreadSummary(
  thread: Awaited<ReturnType<typeof showThreads<ThreadRecord>>>[number],
): ThreadSummary {
  return {
    threadId: thread.id,
    agent: thread.agent,
    status: thread.shownStatus,
    userId: thread.user_id,
    account: thread.account,
    parent: thread.parent_thread_id,
    root: thread.root_thread_id,
    forkedFrom: forkedFromOf(thread),
    title: thread.title,
    opening: thread.opening,
    tags: thread.tags,
    createdAt: thread.created_at,
    lastActivityAt: thread.last_activity_at,
    closedAt: thread.closed_at,
    lastSequence: thread.last_sequence,
  }
}

/** The page of a list that is wanted. */
export interface PageOptions {
  /** `next` of the page before, unchanged. @default the first page */
  readonly cursor?: string
  /** @default 50 */
  readonly limit?: number
}

type Field = 'number' | 'string'

/** Encodes where a page ended, as one word that fits into a URL. Its content is opaque to callers. */
export function cursorOf(place: readonly (number | string)[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

/** Decodes a cursor. @throws ConfigError for a text that `cursorOf` has not made from such fields */
export function readCursor(cursor: string, fields: readonly Field[]): readonly (number | string)[] {
  const place = parseCursor(cursor)
  if (
    Array.isArray(place) &&
    place.length === fields.length &&
    fields.every((field, index) => isField(place[index], field))
  )
    return place as readonly (number | string)[]
  throw new ConfigError(['Expected "cursor" to be the "next" of a page of this list, got something else.'])
}

function isField(value: unknown, field: Field): boolean {
  return field === 'number' ? Number.isSafeInteger(value) : typeof value === 'string'
}

function parseCursor(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    return null
  }
}

/** @throws ConfigError */
export function checkLimit(limit: number = ROWS_OF_PAGE): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= LIMITS.longestPage) return limit
  throw new ConfigError([`Expected "limit" to be 1 to ${LIMITS.longestPage}, got ${limit}.`])
}

const REQUESTS_PAGE = 100

type RequestPage = Awaited<ReturnType<typeof listRequests>>

/** The filter of a list of requests; a field that is left out matches all. */
export interface ListPending {
  readonly agent?: string
  readonly userId?: string
  /** The tenant. */
  readonly account?: string
  readonly threadId?: string
  /** The thread id of a root, for the requests of all threads of its tree. */
  readonly root?: string
}

/** A request, with the thread to which it belongs. */
export type ThreadRequest = PendingRequest & { readonly threadId: string }

/** One page of open requests, the oldest first. */
export interface PendingPage {
  readonly requests: readonly ThreadRequest[]
  /** `cursor` of the next page; null on the last one. */
  readonly next: string | null
}

/** Lists open requests, the oldest first; a page is read when the one before is used up. */
export async function* listPendingRequests(
  context: ClientContext,
  filter: ListPending,
): AsyncGenerator<ThreadRequest, void, undefined> {
  const store = await context.store()
  let after: RequestCursor | null = null
  do {
    const cursor: RequestCursor | null = after
    const page: RequestPage = await store.read((db) =>
      listRequests(db, { filter, after: cursor, limit: REQUESTS_PAGE }),
    )
    yield* page.requests.map(toThreadRequest)
    after = page.next
  } while (after !== null)
}

/** @throws ConfigError for a cursor that is none, or a limit that cannot be */
export async function listPendingPage(
  context: ClientContext,
  filter: ListPending,
  { cursor, limit }: PageOptions,
): Promise<PendingPage> {
  const after = cursor === undefined ? null : readRequestCursor(cursor)
  const size = checkLimit(limit)
  const store = await context.store()
  const { requests, next } = await store.read((db) => listRequests(db, { filter, after, limit: size }))
  return {
    requests: requests.map(toThreadRequest),
    next: next === null ? null : cursorOf([next.requestedAt, next.threadId, next.id]),
  }
}

function readRequestCursor(cursor: string): RequestCursor {
  const [requestedAt, threadId, id] = readCursor(cursor, ['number', 'string', 'string'])
  return { requestedAt: Number(requestedAt), threadId: String(threadId), id: String(id) }
}

function toThreadRequest(listed: ListedRequest): ThreadRequest {
  return { ...toPendingRequest(listed), threadId: listed.request.thread_id }
}

const AGENTS_PAGE = 100

/** An agent that threads can be created for, as a worker described it at its start. */
export interface AgentSummary {
  readonly name: string
  readonly type: string
  readonly title: string | null
  readonly description: string | null
  readonly icon: string | null
  /** Prompts may list it among their tools. */
  readonly exposeAsTool: boolean
}

/** Lists agents by name; a page is read when the one before is used up. */
export async function* listAgentSummaries(
  context: ClientContext,
): AsyncGenerator<AgentSummary, void, undefined> {
  const store = await context.store()
  let after: string | null = null
  for (;;) {
    const cursor: string | null = after
    const page: readonly AgentRecord[] = await store.read((db) =>
      listAgents(db, { after: cursor, limit: AGENTS_PAGE }),
    )
    yield* page.map(toAgentSummary)
    if (page.length < AGENTS_PAGE) return
    after = page.at(-1)?.name ?? null
  }
}

function toAgentSummary({ name, type, title, description, icon, expose_as_tool }: AgentRecord): AgentSummary {
  return { name, type, title, description, icon, exposeAsTool: expose_as_tool }
}
