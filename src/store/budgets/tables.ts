/** The tables of budgets, as `schema.ts` has those of everything else. */
import type { Micros } from '../../protocol/time.js'

/** Budgets of an account, of a user of an account, or of a user of threads without an account. */
export interface OwnerBudgetsTable {
  /** Empty: threads without an account. */
  account: string
  /** Empty: all users of the account. */
  user_id: string
  /** JSON of `OwnerBudgets`. */
  budgets: string
  updated_at: Micros
}

/**
 * What a subject of budgets has used in a period. The row of a thread for all time also has the charge of its newest call (`charges.ts`), so
 * that a call locks, reads and writes one table. What is only read as a whole is JSON: a column costs more than a number in a text.
 */
export interface SpendingTable {
  /** Names the subject (`store/budgets/subjects.ts`). */
  owner: string
  /** total, hour, day, month. */
  period: string
  /** The thread with which it is deleted; null for an account and a user. */
  thread_id: string | null
  /** JSON: when the period began, what was used, what requests in flight may still use, the limits, and the charge (`spending.ts`). */
  state: string
  /** 1: the charge holds something. It changes with the first and the last call of a run, so that its index does not with each. */
  holding: number
}

/** The same as the migration sees them. */
export const BUDGET_TABLES = {
  owner_budgets: {
    columns: { account: 'text', user_id: 'text', budgets: 'text', updated_at: 'big' },
    key: ['account', 'user_id'],
  },
  // What the subjects of budgets have used, and what requests in flight hold.
  spending: {
    columns: {
      owner: 'text',
      period: 'text',
      thread_id: 'text?',
      state: 'text',
      holding: 'int',
    },
    key: ['owner', 'period'],
  },
} as const
