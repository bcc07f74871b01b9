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
