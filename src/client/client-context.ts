import type { Client } from '@temporalio/client'

import type { Store } from '../store/store.js'
import type { OnNotice } from './notices.js'

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
