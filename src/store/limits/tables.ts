import type { Micros } from '../../protocol/time.js'

/** What an account or a session has used in the last minute. */
export interface RateWindowsTable {
  /** Empty: threads without an account. */
  account: string
  /** `RateLimitName`. */
  kind: string
  /** The root thread; empty: all sessions of the account. */
  session: string
  /** JSON of `SecondCounts`. */
  counts: string
  updated_at: Micros
}

/** Sessions that hold a place among those that an account may have at once; one that has come to rest may still have its row. */
export interface BusySessionsTable {
  account: string
  /** The root thread. */
  thread_id: string
  /** Requests under way that will make it busy, or have done so. */
  entering: number
  entered_at: Micros
}
