import type { SourceUser } from '../definitions/tool-source.js'
import { fact } from '../protocol/facts.js'
import { rootOf } from '../protocol/messages.js'
import type { ThreadStart } from '../protocol/messages.js'
import { toMicros } from '../protocol/time.js'
import type { Micros, Millis } from '../protocol/time.js'
import { appendEvents } from '../store/events.js'
import type { Store, Writer } from '../store/store.js'
import { findThread, findThreadForCall, findThreadForStep, insertThread } from '../store/threads/threads.js'
import type { NewThread, ThreadOfCall, ThreadOfStep, ThreadRecord } from '../store/threads/threads.js'

/**
 * How far lists may be behind the last activity of a working thread: each change of it moves entries of seven indexes, and
 * makes transactions of other threads conflict with it (docs/decisions/0043).
 */
const ACTIVITY_PRECISION = 60_000

interface Registration {
  readonly threadId: string
  /** Null: the row must exist. */
  readonly start: ThreadStart | null
  readonly createdAt: Millis
}

export type OpenThread = Omit<ThreadOfStep, 'terminate_requested_at'>

/**
 * Reads the thread's row in this transaction. Null if the thread is terminated, or its row was deleted: nothing may
 * run for it (T8). A thread that was started from Temporal's command line gets its row here. A missing row means
 * deletion, because the activity interceptor admits only workers of the thread's store.
 */
export async function openThread(tx: Writer, registration: Registration): Promise<OpenThread | null> {
  const thread = (await findThreadForStep(tx, registration.threadId)) ?? (await register(tx, registration))
  return thread === null || thread.terminate_requested_at !== null ? null : thread
}

/** As `openThread`, with the permissions that a call of the run has. */
export async function openThreadForCall(
  tx: Writer,
  call: { readonly threadId: string; readonly run: number },
): Promise<ThreadOfCall | null> {
  const thread = await findThreadForCall(tx, call)
  return thread === null || thread.terminate_requested_at !== null ? null : thread
}

/**
 * True if `last_activity_at` is due for an update. Within a run it is precise to `ACTIVITY_PRECISION`; the end
 * of a run sets it exactly.
 */
export function movesActivity({ last_activity_at: last }: OpenThread, now: Micros): boolean {
  return now - last >= toMicros(ACTIVITY_PRECISION)
}

/** As `openThread`, but also for a terminated thread. */
export async function openAnyThread(tx: Writer, registration: Registration): Promise<ThreadRecord | null> {
  return (await findThread(tx, registration.threadId)) ?? register(tx, registration)
}

/** For whom the sources of tools of a thread are asked. */
export async function readSourceUser(
  store: Store,
  { threadId, agent }: Pick<SourceUser, 'threadId' | 'agent'>,
): Promise<SourceUser> {
  const thread = await store.read((db) => findThread(db, threadId))
  return { threadId, agent, account: thread?.account ?? null, user: thread?.user_id ?? null }
}

async function register(
  tx: Writer,
  { threadId, start, createdAt }: Registration,
): Promise<ThreadRecord | null> {
  if (start === null) return null
  await insertThread(tx, threadRow(threadId, start, toMicros(createdAt)))
  const parent = start.parent?.threadId ?? null
  const started = fact('thread.started', { agent: start.agent, parent })
  const events = parent === null ? [started, fact('session.created', {})] : [started]
  await appendEvents(tx, { threadId, events, now: toMicros(createdAt) })
  return findThread(tx, threadId)
}

function threadRow(threadId: string, start: ThreadStart, createdAt: Micros): NewThread {
  return {
    id: threadId,
    agent: start.agent,
    created_at: createdAt,
    user_id: start.userId ?? null,
    tags: start.tags ?? [],
    resumable: start.resumable !== false,
    root_thread_id: rootOf(threadId, start),
    parent_thread_id: start.parent?.threadId ?? null,
    parent_call_id: start.parent?.callId ?? null,
  }
}
