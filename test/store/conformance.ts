import { describe } from 'vitest'

import type { Store } from '../../src/store/store.js'
import { blobConformance } from './conformance/blobs.js'
import { boundaryConformance } from './conformance/boundaries.js'
import { eventConformance } from './conformance/events.js'
import { fileConformance } from './conformance/files.js'
import { folderConformance } from './conformance/folders.js'
import { forkConformance } from './conformance/forks.js'
import { loginConformance } from './conformance/logins.js'
import { messageIdConformance } from './conformance/message-ids.js'
import { messageListConformance } from './conformance/message-lists.js'
import { messageConformance } from './conformance/messages.js'
import { operationConformance } from './conformance/operations.js'
import { budgetConformance } from './conformance/budgets.js'
import { permissionConformance } from './conformance/permissions.js'
import { rateWindowConformance } from './conformance/rate-windows.js'
import { recordConformance } from './conformance/records.js'
import { remoteCallConformance } from './conformance/remote-calls.js'
import { removalConformance } from './conformance/removals.js'
import { reopenConformance } from './conformance/reopen.js'
import { retentionConformance } from './conformance/retention.js'
import { runConformance } from './conformance/runs.js'
import { threadTreeConformance } from './conformance/thread-tree.js'
import { threadConformance } from './conformance/threads.js'
import { sessionConformance } from './conformance/session.js'
import { sessionStateConformance } from './conformance/session-states.js'
import { transactionConformance } from './conformance/transactions.js'
import { usageConformance } from './conformance/usage.js'
import { watchConformance } from './conformance/watch.js'
import { withThreads } from './conformance/with-store.js'
import type { WithStore } from './conformance/with-store.js'

export interface ConformanceOptions {
  /** Whether a transaction may commit while another one is open. */
  readonly sideBySide: boolean
}

/** The contract that each driver keeps. `open` gives an empty store of its own each time. */
export function storeConformance(open: () => Promise<Store>, { sideBySide }: ConformanceOptions): void {
  const withStore: WithStore = (work) => async () => {
    const store = await open()
    try {
      await work(store)
    } finally {
      await store.close()
    }
  }
  describe('transactions', () => transactionConformance(withStore))
  describe('threads', () => threadConformance(withStore))
  describe('trees of threads', () => threadTreeConformance(withStore))
  describe('states of sessions', () => sessionStateConformance(withStore))
  describe('messages', () => messageConformance(withStore))
  describe('message ids', () => messageIdConformance(withStore))
  describe('message lists', () => messageListConformance(withStore))
  describe('forks', () => forkConformance(withStore))
  describe('boundaries', () => boundaryConformance(withStore))
  describe('operations and tool calls', () => operationConformance(withStore))
  describe('runs and children', () => runConformance(withStore))
  describe('what threads have used', () => usageConformance(withStore))
  describe('logins', () => loginConformance(withStore))
  describe('rules of accounts, users and runs', () => permissionConformance(withStore))
  describe('budgets', () => budgetConformance(withStore))
  describe('limits of accounts', () => rateWindowConformance(withStore))
  describe('events and deltas', () => eventConformance(withStore, sideBySide))
  describe('watching', () => watchConformance(withStore))
  describe('files', () => fileConformance(withThreads(withStore, 't', 'child')))
  describe('folders', () => folderConformance(withThreads(withStore, 't')))
  describe('values, plans and errors', () => recordConformance(withStore))
  describe('effects, variables and queued tools', () => sessionConformance(withStore))
  describe('removals', () => removalConformance(withStore))
  describe('remote calls', () => remoteCallConformance(withStore))
  describe('lost threads', () => reopenConformance(withStore))
  describe('retention', () => retentionConformance(withStore))
  describe('blobs', () => blobConformance(withStore))
}
