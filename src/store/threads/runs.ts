import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import type { Permissions } from '../../policy/permissions.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { runIdOf } from '../../protocol/ids.js'
import type { AttachmentRef } from '../../protocol/message.js'
import type { RunOutcome, StopReason, ThreadStatus } from '../../protocol/status.js'
import type { JsonObject } from '../../protocol/values.js'
import { rowCodec } from '../row-codec.js'
import type { Decoded } from '../row-codec.js'
import type { Schema } from '../schema.js'
import type { Reader, Writer } from '../store.js'
import type { Micros } from '../../protocol/time.js'

export interface RunUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
  /** Millionths of a dollar; null when a price is unknown. */
  readonly cost: number | null
}

/** How a run's session ended. */
export interface SessionEnd {
  readonly outcome: 'success' | 'failure'
  readonly message: string
  readonly attachments: readonly AttachmentRef[]
}

type Columns = {
  reason: StopReason | null
  outcome: RunOutcome | null
  usage: RunUsage | null
  session: SessionEnd | null
  output: JsonObject | null
  context: JsonObject
  permissions: Permissions | null
}

export type RunRecord = Decoded<Selectable<Schema['runs']>, Columns>

/** Columns that are left out have the values of a run that just started. */
type NewRun = Pick<RunRecord, 'thread_id' | 'number' | 'trigger_kind' | 'started_at'> &
  Partial<Omit<RunRecord, 'permissions'>>

const codec = rowCodec<Selectable<Schema['runs']>, Columns>({
  json: ['usage', 'session', 'output', 'context', 'permissions'],
})

/** The output of a run that has ended with it; null for any other run: an answer that fitted may have been refused later. */
export function outputOf({ reason, output }: Pick<RunRecord, 'reason' | 'output'>): JsonObject | null {
  return reason === 'stop_on_response' ? output : null
}

/** Names a run of a thread. */
export interface RunKey {
  readonly threadId: string
  readonly number: number
}

/** Triggers of runs that go on with what an earlier run has left undone, without a message that could bring rules. */
const CONTINUING: readonly string[] = ['continue', 'variables']

/** The column of the rules with which a run begins. */
function firstRules({ thread_id: threadId, number, trigger_kind: trigger }: NewRun) {
  if (!CONTINUING.includes(trigger)) return null
  return sql<
    string | null
  >`(select permissions from runs where thread_id = ${threadId} and number < ${number} order by number desc limit 1)`
}

/** Returns false, and changes nothing, if the run exists. A run that continues another one has its rules. */
export async function insertRun(tx: Writer, run: NewRun): Promise<boolean> {
  const row = codec.toRow({ steps: 0, waited: 0, context: {}, ...run })
  const result = await tx
    .insertInto('runs')
    .values({ ...row, permissions: firstRules(run) })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

/** Returns false if there is no such run. */
export async function updateRun(
  tx: Writer,
  { threadId, number }: RunKey,
  patch: Partial<Omit<RunRecord, 'thread_id' | 'number'>>,
): Promise<boolean> {
  const result = await tx
    .updateTable('runs')
    .set(codec.toRow(patch))
    .where('thread_id', '=', threadId)
    .where('number', '=', number)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

interface CutRuns {
  readonly threadId: string
  readonly reason: StopReason
  readonly outcome: Exclude<RunOutcome, 'completed'>
  /** The status of the thread from now on. */
  readonly status: ThreadStatus
  readonly now: Micros
}

/** The usage of a run is known only to its workflow, and the workflow of these runs is lost. */
const NO_USAGE = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cost: null }

/** Ends the open runs of a thread whose workflow is lost; returns the event of each end. */
export async function endOpenRuns(
  tx: Writer,
  { threadId, reason, outcome, status, now }: CutRuns,
): Promise<readonly Fact[]> {
  const ended = await tx
    .updateTable('runs')
    .set({ ended_at: now, reason, outcome })
    .where('thread_id', '=', threadId)
    .where('ended_at', 'is', null)
    .returning(['number', 'steps'])
    .execute()
  return ended
    .toSorted((one, other) => one.number - other.number)
    .map(({ number, steps }) =>
      fact(`run.${outcome}`, { reason, steps, usage: NO_USAGE, status }, { runId: runIdOf(number) }),
    )
}

export async function findRun(db: Reader, { threadId, number }: RunKey): Promise<RunRecord | null> {
  const row = await db
    .selectFrom('runs')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('number', '=', number)
    .executeTakeFirst()
  return row === undefined ? null : codec.fromRow(row)
}

/** The run with the highest number. */
export async function lastRun(db: Reader, threadId: string): Promise<RunRecord | null> {
  const row = await db
    .selectFrom('runs')
    .selectAll()
    .where('thread_id', '=', threadId)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : codec.fromRow(row)
}

/** Adds milliseconds to the time that the run has waited for providers. */
export async function countWait(
  tx: Writer,
  { threadId, number }: RunKey,
  milliseconds: number,
): Promise<void> {
  await tx
    .updateTable('runs')
    .set((run) => ({ waited: run('waited', '+', Math.ceil(milliseconds)) }))
    .where('thread_id', '=', threadId)
    .where('number', '=', number)
    .execute()
}

/** Milliseconds that a run has waited for providers; 0 for a missing run. */
export async function readWaitTime(db: Reader, { threadId, number }: RunKey): Promise<number> {
  const row = await db
    .selectFrom('runs')
    .select('waited')
    .where('thread_id', '=', threadId)
    .where('number', '=', number)
    .executeTakeFirst()
  return row?.waited ?? 0
}

/** The context that the calls of a run share; empty for a missing run. */
export async function readSharedContext(db: Reader, { threadId, number }: RunKey): Promise<JsonObject> {
  const row = await db
    .selectFrom('runs')
    .select('context')
    .where('thread_id', '=', threadId)
    .where('number', '=', number)
    .executeTakeFirst()
  return row === undefined ? {} : (JSON.parse(row.context) as JsonObject)
}

export async function writeSharedContext(tx: Writer, key: RunKey, context: JsonObject): Promise<void> {
  await updateRun(tx, key, { context })
}

/** The trace contexts of these messages, in the order of their ids; messages without one are skipped. */
export async function tracesOfMessages(
  db: Reader,
  threadId: string,
  ids: readonly string[],
): Promise<readonly string[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('messages')
    .select(['id', 'traceparent'])
    .where('thread_id', '=', threadId)
    .where('id', 'in', [...ids])
    .where('traceparent', 'is not', null)
    .execute()
  const traces = new Map(rows.map(({ id, traceparent }) => [id, traceparent]))
  return ids.flatMap((id) => traces.get(id) ?? [])
}

/** The trace context of the steps of a run; null before its first step. */
export async function traceOfRun(db: Reader, { threadId, number }: RunKey): Promise<string | null> {
  const row = await db
    .selectFrom('runs')
    .select('traceparent')
    .where('thread_id', '=', threadId)
    .where('number', '=', number)
    .executeTakeFirst()
  return row?.traceparent ?? null
}

/** The trace context of the message that holds a call: that of its step, or of the client that queued it. */
export async function traceOfCall(db: Reader, threadId: string, callId: string): Promise<string | null> {
  const row = await db
    .selectFrom('tool_calls as call')
    .innerJoin('messages as holder', (join) =>
      join.onRef('holder.thread_id', '=', 'call.thread_id').onRef('holder.id', '=', 'call.message_id'),
    )
    .select('holder.traceparent')
    .where('call.thread_id', '=', threadId)
    .where('call.id', '=', callId)
    .executeTakeFirst()
  return row?.traceparent ?? null
}

/** Whether an open thread has a run under way, or a message that begins one. */
export async function hasWork(db: Reader, threadId: string): Promise<boolean> {
  const row = await selectWorking(db, threadId).executeTakeFirst()
  return row !== undefined
}

/** The open threads with a run under way, or with a message that begins one: its row is there before the run's. */
export async function listWorkingThreads(db: Reader): Promise<readonly string[]> {
  const rows = await selectWorking(db, null).execute()
  return rows.map(({ id }) => id)
}

/** `threadId`: of this one only; null: of all. */
function selectWorking(db: Reader, threadId: string | null) {
  const open = db
    .selectFrom('threads')
    .where('threads.closed_at', 'is', null)
    .$if(threadId !== null, (threads) => threads.where('threads.id', '=', threadId))
  return open
    .innerJoin('runs', 'runs.thread_id', 'threads.id')
    .select('threads.id as id')
    .where('runs.ended_at', 'is', null)
    .union(
      open
        .select('threads.id as id')
        .where((where) =>
          where.exists(
            where
              .selectFrom('messages')
              .select('messages.id')
              .whereRef('messages.thread_id', '=', 'threads.id')
              .where('messages.position', 'is', null)
              .where('messages.status', '=', 'pending')
              .where('messages.silent', '=', 0),
          ),
        ),
    )
}
