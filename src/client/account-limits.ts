import { createRollingClock } from '../policy/rolling-window.js'
import type { Allowance } from '../policy/rolling-window.js'
import { enterSession, leaveSession } from '../store/limits/busy-sessions.js'
import type { Session } from '../store/limits/busy-sessions.js'
import { openRateWindows } from '../store/limits/rate-windows.js'
import type { RateWindow } from '../store/limits/rate-windows.js'
import { findThread } from '../store/threads/threads.js'
import { contextOf } from './thread-client.js'
import type { ThreadClient } from './thread-client.js'

/** Counts what accounts do, in the store of a client. The client itself is not limited: its program decides what it limits. */
export interface AccountCounts {
  /** Counts one use if the limit allows it. */
  take(window: RateWindow, limit: number): Promise<Allowance>
  /** Takes a place among the sessions that an account may have at once; false: there is none. `leave` follows. */
  enter(session: Session, limit: number): Promise<boolean>
  /** What was to make the session busy has been done, or has failed. */
  leave(session: Session): Promise<void>
  /** The session that a thread belongs to or, if there is no such thread, will be. */
  sessionOf(account: string, threadId: string): Promise<Session>
}

export function countAccounts(client: ThreadClient): AccountCounts {
  const clock = createRollingClock()
  const store = () => contextOf(client).store()
  return {
    take: async (window, limit) => openRateWindows(await store(), clock).take(window, limit),
    enter: async (session, limit) => enterSession(await store(), session, limit),
    leave: async (session) => leaveSession(await store(), session),
    async sessionOf(account, threadId) {
      const thread = await (await store()).read((db) => findThread(db, threadId))
      return { account, threadId: thread?.root_thread_id ?? threadId }
    },
  }
}
