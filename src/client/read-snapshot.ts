import { QueryRejectedError, WorkflowClient, WorkflowNotFoundError } from '@temporalio/client'
import type { Client } from '@temporalio/client'
import { LIMITS } from '../protocol/limits.js'
import { QUERIES } from '../protocol/messages.js'
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
import { deliveredAmong } from '../store/messages/queue.js'
import type { Reader } from '../store/store.js'
import { allRegistered } from '../store/threads/thread-tree.js'
import { scheduledEffects } from '../store/threads/effects.js'
import type { EffectRecord } from '../store/threads/effects.js'
import { lastRun } from '../store/threads/runs.js'
import type { ThreadRecord } from '../store/threads/threads.js'
import { pendingRequest } from './answers/pending-request.js'
import type { PendingRequest } from './answers/pending-request.js'
import { isOpen, knownThread } from './client-context.js'
import type { ClientContext } from './client-context.js'
import { previewOfCall, queuedPreviews } from './events/event-page.js'
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
  readonly status: ThreadStatus
  /** What it last said of itself, by `sessionStatus` or `setStatus`; null if it said nothing yet. */
  readonly statusText: string | null
  /** What the store knows, because the thread is closed, or no worker answered. */
  readonly stale: boolean
  /** The time of this state. */
  readonly at: number
  readonly run: RunSnapshot | null
  /** What waits, in order; `preview`: the first 100 characters of a message, or of a name with its arguments. */
  readonly queue: readonly (QueuedItem & { readonly preview?: string })[]
  /** What waits for `respond`. */
  readonly pending: readonly PendingRequest[]
  /** What is put off, the next one first. */
  readonly effects: readonly EffectSummary[]
  /** All that it ever started, the first one first. */
  readonly children: readonly SubagentRegistryEntry[]
  readonly lastRun: LastRun | null
  /** Of its newest event: `events({ after })` goes on from here. */
  readonly lastSequence: number
  readonly createdAt: number
  /** When it was terminated, or asked to; null if it was not. */
  readonly terminated: number | null
}

/** Work that a thread has put off. */
export interface EffectSummary {
  readonly id: string
  readonly name: string
  readonly scheduledAt: number
  readonly createdAt: number
}

/** What the store has beside the control state. */
export interface SnapshotRows {
  readonly thread: ThreadRecord
  readonly children: readonly SubagentRegistryEntry[]
  /** Of what is queued, by id. */
  readonly previews: ReadonlyMap<string, string>
  /** Of the workflow's queue: it keeps what a step has taken until that step's model has answered. */
  readonly delivered: ReadonlySet<string>
  /** Messages and tools that are accepted and not delivered. */
  readonly waiting: readonly QueuedItem[]
  /** Open ones. */
  readonly requests: readonly PendingRequest[]
  /** Scheduled ones, the next one first. */
  readonly effects: readonly EffectRecord[]
}

/** What the workflow answered, with texts from the store. */
export function liveSnapshot(control: ControlSnapshot, rows: SnapshotRows): ThreadSnapshot {
  return {
    ...toStoredPart(rows),
    status: control.status,
    stale: false,
    at: toMicros(control.at),
    ...controlPart(control),
    queue: control.queue
      .filter(({ id }) => !rows.delivered.has(id))
      .map((item) => withPreview({ ...item, queuedAt: toMicros(item.queuedAt) }, rows.previews)),
    pending: control.pending.map((item) => waitingRequest(item, rows)),
    // One that is due waits in the queue.
    effects: rows.effects
      .filter(({ id }) => control.effects.some((item) => item.id === id))
      .map(effectSummary),
  }
}

/** The workflow lists what it waits for; a request whose answer it has not heard of yet is no open row any more. */
function waitingRequest(
  { id, kind, toolName, requestedAt }: PendingItem<Millis>,
  rows: SnapshotRows,
): PendingRequest {
  const open = rows.requests.find((request) => request.id === id)
  if (open !== undefined) return open
  const at = toMicros(requestedAt)
  if (kind === 'variables')
    return { id, kind, agent: rows.thread.agent, required: [], missing: [], requestedAt: at }
  // The wire boundary: kinds of later versions are delivered as they are.
  return { id, kind: kind as 'call', toolName: toolName ?? '', requestedAt: at }
}

/** What the store knows when nobody answers. */
function recordedSnapshot(rows: SnapshotRows, status?: ThreadStatus): ThreadSnapshot {
  const { thread } = rows
  // Written by the activity that settles a run: the store's boundary.
  const control = thread.snapshot as ControlSnapshot | null
  return {
    ...toStoredPart(rows),
    status: status ?? statusOf(thread),
    stale: true,
    at: thread.closed_at ?? thread.snapshot_at ?? thread.created_at,
    ...(control === null ? { run: null, lastRun: null } : controlPart(control)),
    queue: rows.waiting.map((item) => withPreview(item, rows.previews)),
    pending: rows.requests,
    effects: rows.effects.map(effectSummary),
  }
}

/** T8: a thread that was asked to end accepts nothing, whether or not anybody was there to close it. */
function statusOf(thread: ThreadRecord): ThreadStatus {
  return thread.closed_at === null && thread.terminate_requested_at !== null ? 'terminated' : thread.status
}

function toStoredPart({ thread, children }: SnapshotRows) {
  return {
    threadId: thread.id,
    agent: thread.agent,
    parent: thread.parent_thread_id,
    root: thread.root_thread_id,
    statusText: thread.status_text,
    children,
    lastSequence: thread.last_sequence,
    createdAt: thread.created_at,
    terminated: thread.terminated_at ?? thread.terminate_requested_at,
  }
}

function controlPart({ run, lastRun }: ControlSnapshot): Pick<ThreadSnapshot, 'run' | 'lastRun'> {
  return {
    run: run === null ? null : { ...run, since: toMicros(run.since) },
    lastRun: lastRun === null ? null : { ...lastRun, endedAt: toMicros(lastRun.endedAt) },
  }
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

/** `gone`: Temporal has no open workflow of this id. `silent`: nobody answered in time, for whatever reason. */
type SnapshotAnswer =
  | { readonly kind: 'answered'; readonly snapshot: ControlSnapshot }
  | { readonly kind: 'gone' }
  | { readonly kind: 'silent' }

/** Asks the workflow itself, which sees every acknowledged signal; without a worker the server would try for 30 s. */
export async function querySnapshot(
  context: ClientContext,
  threadId: string,
  patience: number = SNAPSHOT_QUERY_TIMEOUT,
): Promise<SnapshotAnswer> {
  const client = context.temporal()
  const query = () => openOnly(client).getHandle(threadId).query<ControlSnapshot>(QUERIES.snapshot)
  try {
    return { kind: 'answered', snapshot: await context.call(patience, query) }
  } catch (error) {
    return { kind: isGone(error) ? 'gone' : 'silent' }
  }
}

/** Of Temporal's `WorkflowExecutionStatus`, whose enum is in a package that the client does not load. */
const CONTINUED_AS_NEW = 6

/** A run that continued as new while it was asked has a successor: it is not gone. */
function isGone(error: unknown): boolean {
  if (error instanceof WorkflowNotFoundError) return true
  return error instanceof QueryRejectedError && error.status !== CONTINUED_AS_NEW
}

const openOnlyClients = new WeakMap<Client, WorkflowClient>()

/** A closed workflow would be replayed to answer with its last state, as if it still ran. */
function openOnly(client: Client): WorkflowClient {
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

/** More than a thread can have: one call waits at a time. */
const REQUESTS = 100

/** A snapshot, and whether the workflow itself was asked in vain. */
export interface Look {
  readonly snapshot: ThreadSnapshot
  readonly silent: boolean
  /** Subagents that have not answered a call of it yet, if it says so itself. */
  readonly owed: readonly string[]
}

/**
 * What the workflow says, else what the store has recorded. A thread that is closed in Temporal while its row is open
 * is lost. @throws ThreadNotFoundError
 */
export async function readSnapshot(
  context: ClientContext,
  threadId: string,
  patience?: number,
): Promise<Look> {
  const store = await context.store()
  const thread = await store.read((db) => knownThread(db, threadId))
  if (thread.closed_at !== null) return recorded(await store.read((db) => rowsOf(db, threadId)))
  const answer = await querySnapshot(context, threadId, patience)
  return store.read(async (db) => {
    const rows = await rowsOf(db, threadId, answer.kind === 'answered' ? answer.snapshot : undefined)
    if (answer.kind === 'answered') return lookOf(answer.snapshot, rows)
    if (answer.kind === 'silent') return { ...recorded(rows), silent: true }
    // Without any run it was never started, which the next message mends.
    const lost = rows.thread.closed_at === null && (await lastRun(db, threadId)) !== null
    return recorded(rows, lost ? 'lost' : undefined)
  })
}

function recorded(rows: SnapshotRows, status?: ThreadStatus): Look {
  return { snapshot: recordedSnapshot(rows, status), silent: false, owed: [] }
}

function lookOf(control: ControlSnapshot, rows: SnapshotRows): Look {
  const owed = control.children.filter((child) => child.owed).map(({ reference }) => reference)
  return { snapshot: liveSnapshot(control, rows), silent: false, owed }
}

async function rowsOf(db: Reader, threadId: string, control?: ControlSnapshot): Promise<SnapshotRows> {
  const thread: ThreadRecord = await knownThread(db, threadId)
  const ids = control?.queue.map(({ id }) => id)
  const queued = ids?.length === 0 ? [] : await queuedPreviews(db, threadId, LIMITS.queuedItems)
  const { requests } = await listRequests(db, { filter: { threadId }, limit: REQUESTS })
  // Nobody performs them any more.
  const effects = isOpen(thread) ? await scheduledEffects(db, threadId) : []
  const due = effects.map(({ id, name, args }) => [id, previewOfCall(name, JSON.stringify(args))] as const)
  return {
    thread,
    delivered: await deliveredAmong(db, threadId, ids ?? []),
    children: await allRegistered(db, threadId),
    previews: new Map([...queued.map(({ item, preview }) => [item.id, preview] as const), ...due]),
    waiting: queued.map(({ item }) => item),
    requests: requests.map(pendingRequest),
    effects,
  }
}
