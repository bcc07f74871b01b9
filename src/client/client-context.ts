import type { Client } from '@temporalio/client'
import type { EgressExceptions } from '../egress/addresses.js'
import { ThreadNotFoundError } from '../protocol/errors.js'
import type { ThreadStart } from '../protocol/messages.js'
import type { Reader, Store } from '../store/store.js'
import { StoreError } from '../store/store-error.js'
import { insertStop } from '../store/threads/stops.js'
import { findThread } from '../store/threads/threads.js'
import type { ThreadRecord } from '../store/threads/threads.js'

/** What all operations of one `ThreadClient` share; the first operation that needs the store or the connection opens it. */
export interface ClientContext {
  /** The task queue on which threads are started: the configured one, or the one that is derived from the store. */
  taskQueue(): Promise<string>
  store(): Promise<Store>
  /** @throws ConfigError when Temporal's environment configuration cannot be read */
  temporal(): Client
  /** All calls to Temporal go through here: `close` waits for them. @param patience milliseconds until the deadline */
  call<T>(patience: number, work: () => Promise<T>): Promise<T>
  /** Whether the activity in flight hears of a stop from the client. If not, it hears of it from the workflow. */
  readonly storesStops: boolean
  /** The key under which the commands of a handle are carried out once; see `once.ts`. */
  readonly key?: string
  /** What requests to URLs of others may reach beside the public internet. */
  readonly egress: EgressExceptions
  /** The address of the page for people; undefined: none is known. */
  readonly pageUrl?: string | undefined
  /** Reports to the operator of the program why a thread waits. */
  readonly onNotice: OnNotice
  /** The search attributes of a start input: only those that are registered in the namespace. */
  searchAttributes(threadId: string): Promise<Pick<ThreadStart, 'searchAttributes' | 'showsWork'>>
}

/** Something that keeps a thread from going on, reported before the thread has failed. */
export interface ThreadNotice {
  /** For programs to compare; later versions add codes. */
  readonly code: 'no_answer' | 'unknown_agent' | 'missing_definition' | 'activity_fails' | (string & {})
  readonly threadId: string
  /** For people: what was expected, what there is instead, and what to do. */
  readonly message: string
}

/** Receives the notices. */
export type OnNotice = (notice: ThreadNotice) => void

/** Reads the row of a thread. @throws ThreadNotFoundError */
export async function requireThread(db: Reader, threadId: string): Promise<ThreadRecord> {
  const thread = await findThread(db, threadId)
  if (thread === null) throw new ThreadNotFoundError(threadId)
  return thread
}

/**
 * Stores a stop or a termination of which the workflow has been told: the activity in flight hears of it at once. Where that fails,
 * or this process dies before it, the workflow stores it.
 */
export async function storeStopNews(
  context: ClientContext,
  stop: { readonly threadId: string; readonly run: number | null },
): Promise<void> {
  if (!context.storesStops) return
  try {
    await (await context.store()).write((tx) => insertStop(tx, stop))
  } catch (error) {
    if (!StoreError.isInstance(error)) throw error
  }
}
