import type { Client } from '@temporalio/client'
import type { Store } from '../store/store.js'

/** What all operations of one `ThreadClient` share; store and connection are opened by the first that needs them. */
export interface ClientContext {
  /** Where threads are started: a given one, or the one that is derived from the store. */
  taskQueue(): Promise<string>
  store(): Promise<Store>
  /** @throws ConfigError when Temporal's environment configuration cannot be read */
  temporal(): Client
  /** All calls to Temporal go through here: `close` waits for them. @param patience milliseconds until the deadline */
  call<T>(patience: number, work: () => Promise<T>): Promise<T>
  /** Tells whoever runs the program of what makes a thread wait. */
  readonly onNotice: OnNotice
  /** Names that a start input may hold: those registered in the namespace. */
  searchAttributes(threadId: string): Promise<readonly string[]>
}

/** Something that keeps a thread from going on, told before it has failed. */
export interface ThreadNotice {
  /** For programs; later versions add codes. */
  readonly code: 'no_answer' | 'unknown_agent' | 'missing_definition' | 'activity_fails' | (string & {})
  readonly threadId: string
  /** For people: what is expected, what there is instead, and what to do. */
  readonly message: string
}

/** Who is told. */
export type OnNotice = (notice: ThreadNotice) => void
