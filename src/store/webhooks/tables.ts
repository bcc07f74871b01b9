/** The table of webhooks, as Kysely and as the migration sees it. */
import type { Micros } from '../../protocol/time.js'

/** Subscriptions to events, which are posted to a URL. */
export interface WebhooksTable {
  id: string
  /** Whose it is, and whose events it gets; null: an operator's, for all accounts. */
  account: string | null
  /** Only events of the tree of this root; null: of all threads that its account has. */
  thread_id: string | null
  url: string
  /** The only message whose end is posted, once; null: it is a subscription. */
  message_thread_id: string | null
  message_id: string | null
  /** JSON: the types of events that it gets; null: all. */
  types: string | null
  /** Sealed with the key of `key_id`. */
  secret: string
  key_id: string
  /** active, failing, paused. */
  state: string
  /** The place in `readAllEvents` behind which it goes on. */
  cursor: string
  created_at: Micros
  /** Failed attempts since the last success. */
  attempts: number
  /** When it is tried again; null: at once. */
  next_attempt_at: Micros | null
  failing_since: Micros | null
  /** A sentence about the last attempt, if that failed. */
  error: string | null
  /** The delivery that holds it, and until when, by the clock of the store. */
  lease_owner: string | null
  lease_until: Micros | null
}

export const WEBHOOK_COLUMNS = {
  id: 'text',
  account: 'text?',
  thread_id: 'text?',
  url: 'text',
  message_thread_id: 'text?',
  message_id: 'text?',
  types: 'text?',
  secret: 'text',
  key_id: 'text',
  state: 'text',
  cursor: 'text',
  created_at: 'big',
  attempts: 'int',
  next_attempt_at: 'big?',
  failing_since: 'big?',
  error: 'text?',
  lease_owner: 'text?',
  lease_until: 'big?',
} as const

export const WEBHOOK_INDEXES = [
  { name: 'webhooks_by_account', columns: ['account', 'id'] },
  // Those that are delivered.
  { name: 'webhooks_by_state', columns: ['state', 'id'] },
  // The deletion of a thread deletes them.
  { name: 'webhooks_by_thread', columns: ['thread_id'] },
  // Each start of a process checks whether it has the keys of all secrets.
  { name: 'webhooks_by_key', columns: ['key_id'] },
] as const
