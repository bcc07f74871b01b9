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
 * What a subject of budgets has used in a period, and what requests in flight may still use of it. The row of a thread for all time also has
 * the charge of its newest call (`charges.ts`), so that a call locks, reads and writes one table.
 */
export interface SpendingTable {
  /** Names the subject (`store/budgets/subjects.ts`). */
  owner: string
  /** total, hour, day, month. */
  period: string
  /** The thread with which it is deleted; null for an account and a user. */
  thread_id: string | null
  /** When the period began, by the clock of the database; 0 for all time. */
  began_at: Micros
  steps: number
  model_calls: number
  tool_calls: number
  /** Milliseconds. */
  runtime: number
  input_tokens: number
  output_tokens: number
  /** Millionths of a dollar. */
  cost: number
  /** Of the row of a thread: what its charge holds. */
  held_input: number
  held_output: number
  held_cost: number
  /** JSON: the limits of which a warning was given. */
  warned: string
  /** JSON: the limits of its newest charge. */
  limits: string
  /** JSON: limits that a person has raised. */
  raised: string
  /** The newest model call that was charged; null: the row has no charge. */
  operation: string | null
  /** The newest call of a tool that was counted; empty: none. */
  tool: string | null
  run: number | null
  /** Of the request within the model call, from 1. */
  number: number | null
  /** When Temporal scheduled the attempt that made it. */
  scheduled_at: Micros | null
  /** Up to here the time of the run is counted. */
  charged_at: Micros | null
  /** JSON: the owners and periods that are charged. */
  owners: string | null
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
      began_at: 'big',
      steps: 'int',
      model_calls: 'int',
      tool_calls: 'int',
      runtime: 'big',
      input_tokens: 'big',
      output_tokens: 'big',
      cost: 'big',
      held_input: 'big',
      held_output: 'big',
      held_cost: 'big',
      warned: 'text',
      limits: 'text',
      raised: 'text',
      operation: 'text?',
      tool: 'text?',
      run: 'int?',
      number: 'int?',
      scheduled_at: 'big?',
      charged_at: 'big?',
      owners: 'text?',
      holding: 'int',
    },
    key: ['owner', 'period'],
  },
} as const
