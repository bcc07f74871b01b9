import type { Generated } from 'kysely'
import type { Micros } from '../protocol/time.js'
import type { SessionColumns } from './threads/session-state.js'
import type { OwnerBudgetsTable, SpendingTable } from './budgets/tables.js'
import type { BusySessionsTable, RateWindowsTable } from './limits/tables.js'
import type { CommandsTable, LoginsTable } from './threads/tables.js'
import type { WebhooksTable } from './webhooks/tables.js'

/**
 * The tables as Kysely sees them, the same for SQLite and PostgreSQL: JSON is text, booleans are 0 or 1, times are microseconds
 * since 1970. `migrations/` is the authority on types and keys.
 */
export interface Schema {
  readonly threads: ThreadsTable
  readonly thread_tags: ThreadTagsTable
  readonly messages: MessagesTable
  readonly tool_calls: ToolCallsTable
  readonly operations: OperationsTable
  readonly runs: RunsTable
  readonly children: ChildrenTable
  readonly files: FilesTable
  readonly blobs: BlobsTable
  readonly thread_values: ThreadValuesTable
  readonly plans: PlansTable
  readonly events: EventsTable
  readonly deltas: DeltasTable
  readonly stops: StopsTable
  readonly errors: ErrorsTable
  readonly pending: PendingTable
  readonly grants: GrantsTable
  readonly effects: EffectsTable
  readonly variables: VariablesTable
  readonly boundaries: BoundariesTable
  readonly agents: AgentsTable
  readonly owner_permissions: OwnerPermissionsTable
  readonly owner_budgets: OwnerBudgetsTable
  readonly spending: SpendingTable
  readonly rate_windows: RateWindowsTable
  readonly busy_sessions: BusySessionsTable
  readonly workers: WorkersTable
  readonly commands: CommandsTable
  readonly webhooks: WebhooksTable
  readonly logins: LoginsTable
  readonly commits: CommitsTable
}

/** Commit marks, on PostgreSQL only: one row for each recent transaction, which exists if and only if it committed. */
interface CommitsTable {
  id: string
  committed_at: Micros
}

interface ThreadsTable extends SessionColumns {
  id: string
  agent: string
  account: string | null
  user_id: string | null
  root_thread_id: string
  parent_thread_id: string | null
  /** The parent's tool call that started it. */
  parent_call_id: string | null
  /** 0 for a root thread. */
  depth: number
  title: string | null
  tags: string
  /** 0: the thread closes after its session, with its result. */
  resumable: number
  created_at: Micros
  last_activity_at: Micros
  status: string
  /** The status text that the thread last set (`sessionStatus`, `setStatus`), for display only. */
  status_text: string | null
  /** The authority on termination (T8): nothing is accepted and nothing runs once it is set. */
  terminate_requested_at: Micros | null
  terminate_reason: string | null
  terminated_at: Micros | null
  closed_at: Micros | null
  last_sequence: number
  last_position: number
  /** The recorded snapshot, for readers without a worker. */
  snapshot: string | null
  snapshot_at: Micros | null
  /** JSON of `SettledState`: the part of the control state that no other row has, as of the end of the last run. */
  settled: string | null
  /** JSON of `ThreadPermissions`; null: the thread was created without any. */
  permissions: string | null
  /** JSON of `Budgets`; null: the thread was created without any. */
  budgets: string | null
  /** JSON of `ThreadOrigin`; null for a root thread. */
  origin: string | null
  /** JSON of `ForkOrigin`; null for a thread that is no fork. */
  forked_from: string | null
}

/** The tags of threads again, to find threads by tag. */
interface ThreadTagsTable {
  tag: string
  thread_id: string
}

interface MessagesTable {
  id: string
  thread_id: string
  /** Place in the transcript, from 1; null while queued. It is set once and never changes (T3). */
  position: number | null
  role: string
  content: string | null
  name: string | null
  tool_calls: string | null
  tool_call_id: string | null
  created_at: Micros
  parent_id: string | null
  depth: number
  silent: number
  metadata: string | null
  status: string
  tool_status: string | null
  attachments: string
  reasoning_content: string | null
  finish_reason: string | null
  /** JSON of `AnswerDetails`: the parts of an answer, with the provider data that goes back with each part. */
  answer_parts: string | null
  prompt: string | null
  subagent_id: string | null
  /** The side whose model or tool made it; null for a message from outside. */
  side: string | null
  /** The sender: client, cli, parent, child, tool, model, runtime. */
  sent_by: string
  /** Run and step that drained or made it. */
  run: number | null
  step: number | null
  /** Digest of what the sender gave, so that the same id with other content is refused. */
  digest: string
  /** W3C trace context of the sender. */
  traceparent: string | null
  /** JSON of `Permissions`: rules for the run that takes the message; null: it brings none. */
  run_permissions: string | null
  /** The hook that refused the message; null: none did. */
  refused_by: string | null
  /** `next_turn` or `preempt`; null: it joins the run that is under way. */
  deliver: string | null
}

interface ToolCallsTable {
  thread_id: string
  id: string
  /** Empty: the code of the call `parent_call_id` made it in place. */
  message_id: string
  run: number
  step: number
  call_index: number
  side: string
  name: string
  provider_call_id: string
  /** The call of a prompt tool whose nested step made this one, or of the tool whose code did. */
  parent_call_id: string | null
  /** The text that the model wrote; possibly invalid JSON. */
  arguments: string
  /** open, succeeded, failed, denied, interrupted, cancelled, unknown. */
  status: string
  error_code: string | null
  result_message_id: string | null
  /** JSON `{ kind: 'stop' | 'fail', message, attachments }` of a session tool that ended its session. */
  session: string | null
  /** JSON of `PermissionDecision`; null: nothing was decided about it yet. */
  decision: string | null
  failure: string | null
  started_at: Micros | null
  finished_at: Micros | null
}

interface OperationsTable {
  thread_id: string
  /** Made from the columns below, and never parsed. */
  id: string
  /** model, activation, begin, tool, remote, settle, report, effect, expire, hook. */
  kind: string
  /** The run and step that it belongs to, if any. */
  run: number | null
  step: number | null
  /** The side that makes the model call or activation. */
  side: string | null
  /** The number of a settle or report; each counter starts at 1 in its thread. */
  number: number | null
  /**
   * For a model call: the call of a prompt tool whose nested step it is; null for a step of its own. For an activation: the id
   * by which the workflow knows it (`activationId`). For a call that sent a message to a child: the reference of the child.
   */
  key: string | null
  /** drained, waiting, started, finished. */
  state: string
  /** The attempt that holds it; only that one may commit (T4). */
  attempt: number
  /** When Temporal scheduled that attempt; null: no activity began it. */
  scheduled_at: Micros | null
  /** JSON of the activity's answer once it is finished: a retry or reset gets the same one. */
  answer: string | null
  /** The id of the message that it will become: the answer of a model call, the result of a prompt tool. */
  message_id: string | null
  /** JSON: model, usage, prices, per attempt. */
  detail: string | null
  started_at: Micros
  finished_at: Micros | null
}

interface RunsTable {
  thread_id: string
  number: number
  trigger_kind: string
  started_at: Micros
  ended_at: Micros | null
  reason: string | null
  outcome: string | null
  steps: number
  /** Milliseconds that it has waited for model providers. */
  waited: number
  /** JSON `{ inputTokens, outputTokens, cachedInputTokens, cost }`, cost in millionths of a dollar or null. */
  usage: string | null
  /** JSON `{ outcome, message, attachments }` of a session end. */
  session: string | null
  /** Why it was stopped, for people; null: no reason was given, or it ended by itself. */
  cancel_reason: string | null
  /** JSON: the newest answer that fitted the output of the agent; it is the run's if the run ends with it. */
  output: string | null
  error: string | null
  /** JSON of ThreadState.context. */
  context: string
  /** W3C trace context that is the parent of its steps, copied from the message that began the run. */
  traceparent: string | null
  /** JSON of `Permissions`: the rules of all messages that it has taken; null: none brought any. */
  permissions: string | null
}

interface ChildrenTable {
  parent_thread_id: string
  reference: string
  /** The call that made it. */
  call_id: string
  /** The first message of the child, which that call sent; null: it sent none. */
  message_id: string | null
  agent: string
  name: string
  title: string | null
  description: string
  resumable: number
  blocking: number
  thread_name: string | null
  spawn_group_id: string | null
  created_at: Micros
  status: string
  /** The status text that the child last set, until its status changes; for display only. */
  status_text: string | null
  parent_communication: string
  /** Number of the last report; a report is stored once. */
  last_report: number
  /** JSON `{ kind: 'result' | 'failure', text, attachments }` of that report. */
  report: string | null
  /** The side of a resumable child that gets the messages of its parent. */
  receives: string | null
  closed_at: Micros | null
}

interface FilesTable {
  thread_id: string
  path: string
  /** Path of the folder that holds it; '/' at the top. */
  folder: string
  name: string
  mime_type: string
  size: number
  /** Digest of the content; null for a folder. */
  blob: string | null
  is_directory: number
  metadata: string | null
  width: number | null
  height: number | null
  created_at: Micros
  updated_at: Micros
}

interface BlobsTable {
  digest: string
  size: number
  created_at: Micros
}

interface ThreadValuesTable {
  thread_id: string
  key: string
  value: string
}

interface PlansTable {
  digest: string
  content: string
  created_at: Micros
}

interface EventsTable {
  /**
   * Unique in the store and never reused. On SQLite it is the order of commits. PostgreSQL assigns it at the insert, so the rows of
   * a late commit have lower ids than rows that were read before: readers of all threads use `readAllEvents`, for which
   * PostgreSQL has an additional column `writer`, the transaction that wrote the row.
   */
  id: Generated<number>
  thread_id: string
  /** The root of its thread, for readers of a tree. */
  root_thread_id: string
  /** The sequences of its first and last event: a row has the events of one transaction. */
  first_sequence: number
  sequence: number
  at: Micros
  /** JSON, in the format of `event-rows.ts`. */
  scope: string
  events: string
  /** The ids of the trace and the span in which they were written, 48 hex digits; null outside of any trace. */
  trace: string | null
}

interface DeltasTable {
  /** Never reused, so that a reader can continue after it although deltas are deleted. */
  id: Generated<number>
  thread_id: string
  message_id: string
  attempt: number
  kind: string
  start_offset: number
  text: string
  /** The call whose arguments they are; null for other kinds. */
  call_id: string | null
  call_name: string | null
  call_offset: number | null
}

/** Stops and news that activities in flight are to hear of; the end of the run deletes them. */
interface StopsTable {
  id: Generated<number>
  thread_id: string
  /** Null: a termination, which stops every run and everything else. */
  run: number | null
  /** Null for a stop. News for the activity that began with this operation: something waits that has no row, and it goes on no further. */
  operation: string | null
}

interface WorkersTable {
  id: string
  identity: string
  beats: number
}

interface ErrorsTable {
  id: string
  thread_id: string | null
  at: Micros
  type: string
  message: string
  stack: string | null
}

interface PendingTable {
  thread_id: string
  id: string
  /** approval, call, variables. */
  kind: string
  call_id: string | null
  tool_name: string | null
  /**
   * Digest of the arguments that were shown: a call with another digest at execution requests approval again. Of a request about a budget
   * the owner, period and limit.
   */
  digest: string | null
  /**
   * JSON; for variables `{ agent, required, missing }`, and `child`, the reference of a deferred subagent. For an approval
   * `ApprovalDetail`: what the person is shown, and who may answer.
   */
  detail: string | null
  /** open, early, answered, closed, expired. */
  status: string
  requested_at: Micros
  answered_at: Micros | null
  /** The person that answered, as the caller names it. */
  answered_by: string | null
  approved: number | null
  reason: string | null
  /** JSON of a ToolResult; for an approval `ApprovalAnswer`. */
  answer: string | null
  answer_digest: string | null
  /** When it is denied if nobody has answered. */
  expires_at: Micros | null
}

/** Approvals that a person wants remembered: they answer what would be asked later. */
interface GrantsTable {
  id: string
  /** JSON that names whom it is for: a thread, a tree by its root, or a user of an account. */
  subject: string
  /** The thread or root; null for a user. */
  thread_id: string | null
  account: string | null
  user_id: string | null
  tool_name: string
  /** JSON; it holds for calls that need no other capabilities. Null: it holds for the same arguments of the tool. */
  capabilities: string | null
  arguments_digest: string | null
  /** JSON of `CombinedApproval`: the rule that was answered. It holds for no call whose rule demands more. */
  approval: string | null
  /** The thread and the request that it was given in. */
  given_in: string
  request_id: string
  granted_by: string | null
  created_at: Micros
  expires_at: Micros | null
  revoked_at: Micros | null
}

interface EffectsTable {
  thread_id: string
  id: string
  name: string
  /** JSON. */
  args: string
  due_at: Micros
  created_at: Micros
  /** scheduled, done, failed, removed. */
  status: string
  finished_at: Micros | null
  error: string | null
}

interface VariablesTable {
  thread_id: string
  name: string
  /** text or secret. */
  type: string
  /** The plain value, or one that is sealed with the key of `key_id`. */
  value: string
  key_id: string | null
  updated_at: Micros
  /** 1: given at the start of the thread; its subagents have it too, also those that scope the name. */
  for_graph: number
}

interface BoundariesTable {
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
  created_at: Micros
}

/** The agents that workers run, for lists and for the inventory of their tools. */
interface AgentsTable {
  name: string
  type: string
  title: string | null
  description: string | null
  icon: string | null
  expose_as_tool: number
  /** JSON: the tools of its prompts, and how the worker judges them. */
  inventory: string
  updated_at: Micros
}

/** Rules of an account, of a user of an account, or of a user of threads without an account. */
interface OwnerPermissionsTable {
  /** Empty: threads without an account. */
  account: string
  /** Empty: all users of the account. */
  user_id: string
  /** JSON of `Permissions`. */
  permissions: string
  updated_at: Micros
}

/** The highest value of 32-bit integer columns: PostgreSQL refuses to compare them with a larger number. */
export const HIGHEST_INT = 2 ** 31 - 1

/** Whether the value is a width or height that a row can hold. */
export function isPixels(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= HIGHEST_INT
}
