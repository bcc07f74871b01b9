import type { Micros } from '../../protocol/time.js'

/** Commands that came with a key. */
export interface CommandsTable {
  thread_id: string
  key: string
  /** Digest of the command's name and content. */
  digest: string
  /** JSON: what the caller got, and what a repetition gets. */
  answer: string
  at: Micros
}

/** What people have allowed sources of tools to do for them: one row for each person and source. */
export interface LoginsTable {
  /** Empty: threads without an account. */
  account: string
  /** Empty: threads without a user. */
  user_id: string
  /** The name of the source of tools. */
  source: string
  /** Of the newest write, and never used again: who writes names the one that they have read. */
  version: number
  /** Sealed with the key of `key_id`. */
  value: string
  key_id: string
  created_at: Micros
  updated_at: Micros
}

export const LOGINS = {
  columns: {
    account: 'text',
    user_id: 'text',
    source: 'text',
    version: 'big',
    value: 'text',
    key_id: 'text',
    created_at: 'big',
    updated_at: 'big',
  },
  key: ['account', 'user_id', 'source'],
} as const
