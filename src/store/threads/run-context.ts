import { sql } from 'kysely'
import type { ActionContext, ActionParent } from '../../policy/action.js'
import type { Budgets } from '../../policy/budget.js'
import { mergePermissions } from '../../policy/permissions.js'
import type { RunContext } from '../../policy/run-context.js'
import { globalRunId, runIdOf, stepIdOf } from '../../protocol/ids.js'
import type { Reader } from '../store.js'
import { findToolCall } from '../calls/tool-calls.js'
import { prepared } from '../transaction.js'
import { rowCodec } from '../row-codec.js'
import type { Decoded } from '../row-codec.js'
import type { RunKey, RunRecord } from './runs.js'
import { agentChainOf } from './threads.js'
import type { ThreadRecord } from './threads.js'

/**
 * Reads the context of a run from the rows of the run, its thread and the root of its tree; null if there is no such run. It is read
 * when code asks for it, and outside of transactions that write: the row of a root is changed by its own runs.
 */
export async function readRunContext(db: Reader, key: RunKey): Promise<RunContext | null> {
  const read = await readContext(db, key)
  return read?.hasRun === true ? read.context : null
}

/** The context of the run that made a call; null if there is no such call. */
export async function readCallContext(
  db: Reader,
  { threadId, callId }: { readonly threadId: string; readonly callId: string },
): Promise<{ readonly stepId: string; readonly runContext: RunContext | null } | null> {
  const call = await findToolCall(db, threadId, callId)
  if (call === null) return null
  const { run, step } = call
  return { stepId: stepIdOf(run, step), runContext: await readRunContext(db, { threadId, number: run }) }
}

/** The step in which an action is judged. */
interface JudgedStep {
  readonly threadId: string
  readonly run: number
  readonly step: number
  /** Its agent, which has taken over since the row of the thread was written. */
  readonly agent: string
}

/** The same, for whoever judges an action of the run; null only without a thread, so that nothing is judged by less than there is. */
export async function readActionContext(
  db: Reader,
  { threadId, run, step, agent }: JudgedStep,
): Promise<ActionContext | null> {
  const read = await readContext(db, { threadId, number: run })
  if (read === null) return null
  const { row, context } = read
  const { account, user_id: userId, tags } = row
  return { ...context, threadId, agent, account, userId, tags, run, step, parent: parentOf(row) }
}

function parentOf({
  parent_thread_id: threadId,
  parent_call_id: callId,
  origin,
}: ContextRow): ActionParent | null {
  if (threadId === null || origin === null) return null
  return { threadId, runId: runIdOf(origin.run), toolCallId: callId ?? '' }
}

interface Context {
  readonly row: ContextRow
  /** Whether there is a run of that number. */
  readonly hasRun: boolean
  readonly context: RunContext
}

type Columns = Pick<ThreadRecord, 'tags' | 'permissions' | 'budgets' | 'origin'> & {
  root_metadata: ThreadRecord['metadata']
  root_budgets: ThreadRecord['budgets']
  run_permissions: RunRecord['permissions']
}

type ContextRow = Decoded<Selected, Columns>

type Selected = Awaited<ReturnType<typeof selectContext>>[number]

const codec = rowCodec<Selected, Columns>({
  json: [
    ...(['tags', 'permissions', 'budgets', 'origin'] as const),
    'root_metadata',
    'root_budgets',
    'run_permissions',
  ],
})

/** One statement: a policy function asks for it at each call. The snapshot of a thread and the output of a run are large, and not read. */
const selectContext = prepared(([ofStop, ofRun, threadId], db) =>
  db
    .selectFrom('threads as thread')
    .leftJoin('threads as root', 'root.id', 'thread.root_thread_id')
    .leftJoin('runs as run', (join) =>
      join.onRef('run.thread_id', '=', 'thread.id').on('run.number', '=', Number(ofRun)),
    )
    .select(['thread.root_thread_id', 'thread.parent_thread_id', 'thread.parent_call_id', 'thread.agent'])
    .select(['thread.account', 'thread.user_id', 'thread.terminate_requested_at'])
    .select(['thread.tags', 'thread.permissions', 'thread.budgets', 'thread.origin'])
    .select(['root.workspace_uri', 'root.metadata as root_metadata', 'root.budgets as root_budgets'])
    .select([
      'run.number',
      'run.ended_at',
      'run.outcome',
      'run.traceparent',
      'run.permissions as run_permissions',
    ])
    .select((select) =>
      select
        .selectFrom('stops')
        .select('stops.thread_id')
        .whereRef('stops.thread_id', '=', 'thread.id')
        .where('stops.operation', 'is', null)
        .where((where) => where.or([where('stops.run', 'is', null), where('stops.run', '=', Number(ofStop))]))
        .limit(sql.lit(1))
        .as('stopped'),
    )
    .where('thread.id', '=', String(threadId)),
)

async function readContext(db: Reader, key: RunKey): Promise<Context | null> {
  const { threadId, number } = key
  const [selected] = await selectContext(db, [number, number, threadId])
  if (selected === undefined) return null
  const row = codec.fromRow(selected)
  const isStopped =
    row.ended_at === null
      ? row.terminate_requested_at !== null || row.stopped !== null
      : row.outcome === 'cancelled'
  const rules = [row.permissions?.permissions, row.run_permissions].filter((one) => one != null)
  const context: RunContext = {
    runId: globalRunId(threadId, number),
    sessionId: row.root_thread_id,
    traceId: row.traceparent?.split('-')[1] ?? null,
    workspaceUri: row.workspace_uri,
    parentRunId: parentRunOf(row),
    agentChain: agentChainOf(row),
    permissions: mergePermissions(rules),
    budget: budgetsOf(row),
    canceled: isStopped,
    metadata: row.root_metadata,
  }
  return { row, hasRun: row.number !== null, context }
}

function parentRunOf({ parent_thread_id: parent, origin }: ContextRow): string | null {
  return parent === null || origin === null ? null : globalRunId(parent, origin.run)
}

function budgetsOf({ budgets, root_budgets: root }: ContextRow): Budgets | null {
  const tree = root?.tree
  const all = { ...budgets, ...(tree !== undefined && { tree }) }
  return Object.keys(all).length === 0 ? null : all
}
