import { QueryRejectedError, WorkflowClient, WorkflowNotFoundError } from '@temporalio/client'
import type { Client } from '@temporalio/client'
import { LIMITS } from '../protocol/limits.js'
import { QUERIES } from '../protocol/messages.js'
import type { ForkedFrom } from '../protocol/payloads/lifecycle.js'
import type {
  ControlSnapshot,
  LastRun,
  PendingItem,
  QueuedItem,
  RunSnapshot,
  ThreadStatus,
  SubagentRegistryEntry,
} from '../protocol/status.js'
import { listRequests } from '../store/calls/request-lists.js'
import { findDelivered } from '../store/messages/queue.js'
import type { Reader } from '../store/store.js'
import { isOpen } from '../store/threads/open-threads.js'
import { countChildren } from '../store/threads/children.js'
import { listRegisteredChildren } from '../store/threads/thread-tree.js'
import { listScheduledEffects } from '../store/threads/effects.js'
import type { EffectRecord } from '../store/threads/effects.js'
import { runIdOf } from '../protocol/ids.js'
import { lastRun } from '../store/threads/runs.js'
import { agentChainOf, forkedFromOf, showThreads } from '../store/threads/threads.js'
import type { ThreadRecord } from '../store/threads/threads.js'
import { toPendingRequest } from './answers/pending-request.js'
import type { PendingRequest } from './answers/pending-request.js'
import { requireThread } from './client-context.js'
import type { ClientContext } from './client-context.js'
import { previewCall, listQueuedPreviews } from './events/event-page.js'
import { readWorkAhead } from './work-ahead.js'
import type { WorkAhead } from './work-ahead.js'
import { toMicros } from '../protocol/time.js'
import type { Millis } from '../protocol/time.js'

export const SNAPSHOT_QUERY_TIMEOUT = 2_000

/** A thread at one moment. All times are microseconds since 1970. */
export interface ThreadSnapshot {
  readonly threadId: string
  readonly agent: string
  /** Thread id of the parent; null for a root thread. */
  readonly parent: string | null
  /** Thread id of the root of its tree; its own id for a root thread. */
  readonly root: string
  /** The run of the parent that started it; null for a root thread. */
  readonly parentRun: string | null
  /** The thread that this one was forked from, and the last message that it has of it; null for one that is no fork. */
  readonly forkedFrom: ForkedFrom | null
  /** The agents that the work has come through, the root's first, its own last. */
  readonly agentChain: readonly string[]
  readonly status: ThreadStatus
  /** The last text of `sessionStatus` or `setStatus`; null before the first one. */
  readonly statusText: string | null
  /** True when this is the recorded state of the store, because the thread is closed or no worker answered. */
  readonly stale: boolean
  /** The time of this state. */
  readonly at: number
  readonly run: RunSnapshot | null
  /** The queue in order; `preview` is the first 100 characters of a message, or of a name with its arguments. */
  readonly queue: readonly (QueuedItem & { readonly preview?: string })[]
  /** The requests that wait for `respond`. */
  readonly pending: readonly PendingRequest[]
  /** The scheduled effects, the next one first. */
  readonly effects: readonly EffectSummary[]
  /** The first 50 subagents that it ever started, the first one first; `children()` has all. */
  readonly children: readonly SubagentRegistryEntry[]
  /** The number of all of them. */
  readonly childCount: number
  readonly lastRun: LastRun | null
  /** The sequence of its newest event: `events({ after })` goes on from here. */
  readonly lastSequence: number
  readonly createdAt: number
  /** When it was terminated, or its termination was requested; null if neither has happened. */
  readonly terminated: number | null
}

/** An effect that a thread has scheduled. */
export interface EffectSummary {
  readonly id: string
  readonly name: string
  readonly scheduledAt: number
  readonly createdAt: number
}

/** What a snapshot takes from the store, beside the control state. */
export interface SnapshotRows {
  readonly thread: ThreadRecord
  /** What a list says of the thread: its row does not know that a run waits for a person. */
  readonly shownStatus: ThreadStatus
  readonly children: readonly SubagentRegistryEntry[]
  readonly childCount: number
  /** The texts of queued items, by id. */
  readonly previews: ReadonlyMap<string, string>
  /**
   * Items that the workflow's queue still holds although they are delivered: it keeps them until the model of their
   * step answers.
   */
  readonly delivered: ReadonlySet<string>
  /** Messages and tools that are accepted and not delivered yet. */
  readonly waiting: readonly QueuedItem[]
  /** The open requests. */
  readonly requests: readonly PendingRequest[]
  /** The scheduled effects, the next one first. */
  readonly effects: readonly EffectRecord[]
  /** What the run does now, if its activity is ahead of the workflow. */
  readonly ahead: WorkAhead | null
}

/** Joins the answer of the workflow with texts from the store. */
export function buildLiveSnapshot(control: ControlSnapshot, rows: SnapshotRows): ThreadSnapshot {
  return {
    ...readStoredFields(rows),
    status: control.status,
    stale: false,
    at: toMicros(control.at),
    ...readControlFields(control, rows.ahead),
    queue: control.queue
      .filter(({ id }) => !rows.delivered.has(id))
      .map((item) => withPreview({ ...item, queuedAt: toMicros(item.queuedAt) }, rows.previews)),
    pending: control.pending.map((item) => findWaitingRequest(item, rows)),
    // An effect that is due is an item of the queue.
    effects: rows.effects
      .filter(({ id }) => control.effects.some((item) => item.id === id))
      .map(effectSummary),
  }
}

/**
 * The workflow decides what it waits for: the row of a request stops being open once it is answered, before the workflow
 * receives the answer.
 */
function findWaitingRequest(
  { id, kind, toolName, requestedAt }: PendingItem<Millis>,
  rows: SnapshotRows,
): PendingRequest {
  const open = rows.requests.find((request) => request.id === id)
  if (open !== undefined) return open
  const at = toMicros(requestedAt)
  if (kind === 'variables')
    return { id, kind, agent: rows.thread.agent, required: [], missing: [], requestedAt: at }
  // The wire boundary: kinds of later versions are delivered unchanged.
  return { id, kind: kind as 'call', toolName: toolName ?? '', requestedAt: at }
}

/** The recorded state of a thread, for when no worker answers. */
function buildRecordedSnapshot(rows: SnapshotRows, status?: ThreadStatus): ThreadSnapshot {
  const { thread } = rows
  // The store's boundary: the settle activity wrote it.
  const control = thread.snapshot as ControlSnapshot | null
  return {
    ...readStoredFields(rows),
    status: status ?? statusOf(rows),
    stale: true,
    at: thread.closed_at ?? thread.snapshot_at ?? thread.created_at,
    ...(control === null ? { run: null, lastRun: null } : readControlFields(control, null)),
    queue: rows.waiting.map((item) => withPreview(item, rows.previews)),
    pending: rows.requests,
    effects: rows.effects.map(effectSummary),
  }
}

/** T8: a thread whose termination was requested accepts nothing, even while no worker has closed it. */
function statusOf({ thread, shownStatus }: SnapshotRows): ThreadStatus {
  return thread.closed_at === null && thread.terminate_requested_at !== null ? 'terminated' : shownStatus
}

function readStoredFields({ thread, children, childCount }: SnapshotRows) {
  return {
    threadId: thread.id,
    agent: thread.agent,
    parent: thread.parent_thread_id,
    root: thread.root_thread_id,
    parentRun: thread.origin === null ? null : runIdOf(thread.origin.run),
    forkedFrom: forkedFromOf(thread),
    agentChain: agentChainOf(thread),
    statusText: thread.status_text,
    children,
    childCount,
    lastSequence: thread.last_sequence,
    createdAt: thread.created_at,
    terminated: thread.terminated_at ?? thread.terminate_requested_at,
  }
}

function readControlFields(
  { run, lastRun }: ControlSnapshot,
  ahead: WorkAhead | null,
): Pick<ThreadSnapshot, 'run' | 'lastRun'> {
  return {
    run: run === null ? null : readRun(run, ahead),
    lastRun: lastRun === null ? null : { ...lastRun, endedAt: toMicros(lastRun.endedAt) },
  }
}

function readRun(
  { mayBeAhead: _known, ...run }: NonNullable<ControlSnapshot['run']>,
  ahead: WorkAhead | null,
): RunSnapshot {
  return { ...run, since: toMicros(run.since), ...ahead }
}

function withPreview(
  item: QueuedItem,
  previews: ReadonlyMap<string, string>,
): ThreadSnapshot['queue'][number] {
  const preview = previews.get(item.id)
  return { ...item, ...(preview !== undefined && { preview }) }
}

function effectSummary({ id, name, due_at, created_at }: EffectRecord): EffectSummary {
  return { id, name, scheduledAt: due_at, createdAt: created_at }
}

/** `gone`: Temporal has no open workflow of this id. `silent`: no answer came in time, for whatever reason. */
type SnapshotAnswer =
  | { readonly kind: 'answered'; readonly snapshot: ControlSnapshot }
  | { readonly kind: 'gone' }
  | { readonly kind: 'silent' }

/**
 * Queries the workflow, which sees every acknowledged signal. The patience is short: without a worker the server waits
 * for 30 s.
 */
export async function querySnapshot(
  context: ClientContext,
  threadId: string,
  patience: number = SNAPSHOT_QUERY_TIMEOUT,
): Promise<SnapshotAnswer> {
  const client = context.temporal()
  const query = () => openOnlyClient(client).getHandle(threadId).query<ControlSnapshot>(QUERIES.snapshot)
  try {
    return { kind: 'answered', snapshot: await context.call(patience, query) }
  } catch (error) {
    return { kind: isGone(error) ? 'gone' : 'silent' }
  }
}

/** Of Temporal's `WorkflowExecutionStatus`, whose enum is in a package that the client does not load. */
const CONTINUED_AS_NEW = 6

/** A run that continued as new during the query has a successor: the thread is not gone. */
function isGone(error: unknown): boolean {
  if (error instanceof WorkflowNotFoundError) return true
  return error instanceof QueryRejectedError && error.status !== CONTINUED_AS_NEW
}

const openOnlyClients = new WeakMap<Client, WorkflowClient>()

/**
 * A client whose queries reject closed workflows, which a worker would replay to answer with their last state as if
 * they still ran.
 */
function openOnlyClient(client: Client): WorkflowClient {
  const known = openOnlyClients.get(client)
  if (known !== undefined) return known
  const made = new WorkflowClient({
    ...client.workflow.options,
    connection: client.connection,
    queryRejectCondition: 'NOT_OPEN',
  })
  openOnlyClients.set(client, made)
  return made
}

/** As many as a screen shows: a thread may have started ten thousand. */
const CHILDREN = 50

/** More requests than a thread can have: one call waits at a time. */
const REQUESTS = 100

/** A snapshot, and whether the query of the workflow got no answer. */
export interface Look {
  readonly snapshot: ThreadSnapshot
  readonly silent: boolean
  /** Subagents that have not answered a call of this thread yet, as its workflow reports; empty for a recorded state. */
  readonly owed: readonly string[]
}

/**
 * Reads the state from the workflow, else the one that the store has recorded. A thread that is closed in Temporal while its
 * row is open is lost. @throws ThreadNotFoundError
 */
export async function readSnapshot(
  context: ClientContext,
  threadId: string,
  patience?: number,
): Promise<Look> {
  const store = await context.store()
  const thread = await store.read((db) => requireThread(db, threadId))
  if (thread.closed_at !== null) return lookAtRows(await store.read((db) => readRows(db, threadId)))
  const answer = await querySnapshot(context, threadId, patience)
  return store.read(async (db) => {
    const rows = await readRows(db, threadId, answer.kind === 'answered' ? answer.snapshot : undefined)
    if (answer.kind === 'answered') return lookAtControl(answer.snapshot, rows)
    if (answer.kind === 'silent') return { ...lookAtRows(rows), silent: true }
    // A thread without any run was never started; the next message starts it.
    const lost = rows.thread.closed_at === null && (await lastRun(db, threadId)) !== null
    return lookAtRows(rows, lost ? 'lost' : undefined)
  })
}

function lookAtRows(rows: SnapshotRows, status?: ThreadStatus): Look {
  return { snapshot: buildRecordedSnapshot(rows, status), silent: false, owed: [] }
}

function lookAtControl(control: ControlSnapshot, rows: SnapshotRows): Look {
  const owed = control.children.filter((child) => child.owed).map(({ reference }) => reference)
  return { snapshot: buildLiveSnapshot(control, rows), silent: false, owed }
}

async function readRows(db: Reader, threadId: string, control?: ControlSnapshot): Promise<SnapshotRows> {
  const thread: ThreadRecord = await requireThread(db, threadId)
  const ids = control?.queue.map(({ id }) => id)
  const queued = ids?.length === 0 ? [] : await listQueuedPreviews(db, threadId, LIMITS.queuedItems)
  // A workflow that answers knows it better.
  const [shown] = control === undefined ? await showThreads(db, [thread]) : []
  const { requests } = await listRequests(db, { filter: { threadId }, limit: REQUESTS })
  // A closed thread performs no effects any more.
  const effects = isOpen(thread) ? await listScheduledEffects(db, threadId) : []
  const due = effects.map(({ id, name, args }) => [id, previewCall(name, JSON.stringify(args))] as const)
  return {
    thread,
    shownStatus: shown?.shownStatus ?? thread.status,
    delivered: await findDelivered(db, threadId, ids ?? []),
    children: await listRegisteredChildren(db, { parentThreadId: threadId, limit: CHILDREN }),
    childCount: await countChildren(db, threadId),
    previews: new Map([...queued.map(({ item, preview }) => [item.id, preview] as const), ...due]),
    waiting: queued.map(({ item }) => item),
    requests: requests.map(toPendingRequest),
    effects,
    ahead: control?.run?.mayBeAhead === true ? await readWorkAhead(db, threadId, control.run) : null,
  }
}
