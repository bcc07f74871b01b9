/** The tables of requests, delayed work, variables, cuts of the context and agents, as Kysely sees them. */
import type { Generated } from 'kysely'

export interface PendingTable {
  thread_id: string
  id: string
  /** approval, call, variables. */
  kind: string
  call_id: string | null
  tool_name: string | null
  /** Of the arguments that were shown: a call whose digest differs at execution asks again. */
  digest: string | null
  /** JSON: of variables `{ agent, required, missing }`, and `child`, the reference of a subagent that waits for them. */
  detail: string | null
  /** open, early, answered, closed, dropped. */
  status: string
  requested_at: number
  answered_at: number | null
  /** Who, as the caller says. */
  answered_by: string | null
  approved: number | null
  reason: string | null
  /** JSON of a ToolResult. */
  answer: string | null
  answer_digest: string | null
}

export interface EffectsTable {
  thread_id: string
  id: string
  name: string
  /** JSON. */
  args: string
  due_at: number
  created_at: number
  /** scheduled, done, failed, removed. */
  status: string
  finished_at: number | null
  error: string | null
}

export interface VariablesTable {
  thread_id: string
  name: string
  /** text or secret. */
  type: string
  /** As it is, or sealed with the key of `key_id`. */
  value: string
  key_id: string | null
  updated_at: number
  /** 1: given as the thread was started; its subagents have it too, also those that scope the name. */
  for_graph: number
}

export interface BoundariesTable {
  id: Generated<number>
  thread_id: string
  side: string
  /** The first position that is still in the context; the last boundary of a side holds. */
  position: number
  /** window, context_length. */
  kind: string
  /** The model operation that made it. */
  operation: string
  tokens_before: number | null
  tokens_after: number | null
  detail: string | null
  created_at: number
}

/** The agents that workers run, for lists. */
export interface AgentsTable {
  name: string
  type: string
  title: string | null
  description: string | null
  icon: string | null
  expose_as_tool: number
  updated_at: number
}
