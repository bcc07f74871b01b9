/**
 * Stops of a thread that its activity in flight is to hear of, and items without a row that wait for it to end. They are for
 * activities only: what they mean for the thread is decided by its workflow, which gets a signal.
 */
import { noteFleeting, noteStop } from '../changes.js'
import type { Reader, Writer } from '../store.js'
import { pipeline } from '../transaction.js'
import { findRun, lastRun } from './runs.js'

interface StopKey {
  readonly threadId: string
  /** Null: a termination, which stops every run and everything else. */
  readonly run: number | null
}

/**
 * Stores a stop of a run or thread that the caller has found open. It reads nothing and does not wait for the disk, so that it has
 * no conflict with other threads and is stored in milliseconds: if it is lost, Temporal's cancellation comes all the same.
 */
export async function insertStop(tx: Writer, { threadId, run }: StopKey): Promise<void> {
  noteStop(tx, threadId)
  noteFleeting(tx)
  await tx.insertInto('stops').values({ thread_id: threadId, run }).execute()
}

interface NewsKey {
  readonly threadId: string
  readonly run: number
  /** The operation with which the activity in flight began. */
  readonly operation: string
}

/** Stores that something waits for the end of an activity that goes on by itself, unless its run has ended. */
export async function insertNews(tx: Writer, { threadId, run, operation }: NewsKey): Promise<void> {
  if (await isOver(tx, { threadId, run })) return
  await tx.insertInto('stops').values({ thread_id: threadId, run, operation }).execute()
}

export async function isNewsStored(
  db: Reader,
  { threadId, operation }: Pick<NewsKey, 'threadId' | 'operation'>,
): Promise<boolean> {
  const news = await db
    .selectFrom('stops')
    .select('id')
    .where('thread_id', '=', threadId)
    .where('operation', '=', operation)
    .executeTakeFirst()
  return news !== undefined
}

/** Whether there is nothing left to stop: a thread that is closed has no run that has not ended. */
export async function isOver(db: Reader, { threadId, run }: StopKey): Promise<boolean> {
  if (run !== null) return ((await findRun(db, { threadId, number: run }))?.ended_at ?? null) !== null
  const thread = await db
    .selectFrom('threads')
    .select('closed_at')
    .where('id', '=', threadId)
    .executeTakeFirst()
  return thread?.closed_at != null
}

/** The run that is under way, as far as the store knows; null if there is none. */
export async function openRun(db: Reader, threadId: string): Promise<number | null> {
  const run = await lastRun(db, threadId)
  return run?.ended_at === null ? run.number : null
}

/** Whether this run is stopped; without a run, whether the thread is terminated. */
export async function isStopStored(db: Reader, { threadId, run }: StopKey): Promise<boolean> {
  const stops = await db
    .selectFrom('stops')
    .select('run')
    .where('thread_id', '=', threadId)
    .where('operation', 'is', null)
    .execute()
  return stops.some((stop) => stop.run === null || stop.run === run)
}

/** Deletes the stops of a run that ends, and of earlier ones; without a run, all of a thread that closes. */
export function deleteStops(tx: Writer, { threadId, run }: StopKey): void {
  const stops = tx.deleteFrom('stops').where('thread_id', '=', threadId)
  pipeline(tx, (run === null ? stops : stops.where('run', '<=', run)).execute())
}
