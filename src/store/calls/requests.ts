import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import type { RequestKind } from '../../protocol/event-codes.js'
import { resultOperationId } from '../../protocol/ids.js'
import type { JsonObject, JsonValue } from '../../protocol/values.js'
import { digestOf } from '../digest.js'
import { findOperation } from '../operations.js'
import { rowCodec } from '../row-codec.js'
import type { Decoded } from '../row-codec.js'
import type { Schema } from '../schema.js'
import type { Reader, Writer } from '../store.js'
import { findChild } from '../threads/children.js'
import { findRun, lastRun } from '../threads/runs.js'
import { findThread } from '../threads/threads.js'
import { findToolCall } from './tool-calls.js'
import type { Micros } from '../../protocol/time.js'

/**
 * `early`: the result of a call arrived before the call requested it, and is kept until it does; `isDropped` is true if the
 * call ended without a request. `closed`: the call, run or thread of the request has ended, and answers are refused. `expired`: nobody
 * answered in time.
 */
type RequestStatus = 'open' | 'early' | 'answered' | 'closed' | 'expired'

type Columns = {
  kind: RequestKind
  status: RequestStatus
  detail: JsonObject | null
  approved: boolean | null
  answer: JsonValue
}

/** A request for an answer from outside. Its row holds the decision; the message to the workflow only points to it. */
export type PendingRecord = Decoded<Selectable<Schema['pending']>, Columns>

export type NewRequest = Pick<PendingRecord, 'thread_id' | 'id' | 'kind' | 'requested_at'> &
  Partial<Pick<PendingRecord, 'call_id' | 'tool_name' | 'digest' | 'detail' | 'expires_at'>>

const codec = rowCodec<Selectable<Schema['pending']>, Columns>({ json: ['detail', 'answer'] })

/** Returns false, and changes nothing, if the request exists. */
export async function insertRequest(tx: Writer, request: NewRequest): Promise<boolean> {
  const result = await tx
    .insertInto('pending')
    .values(codec.toRow({ ...request, status: 'open' as const }))
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

/** Keeps the answer of a call that has made no request yet. Returns false if there is a row by now. */
export async function insertEarlyAnswer(
  tx: Writer,
  request: Pick<PendingRecord, 'thread_id' | 'id' | 'tool_name'>,
  { answer, digest, now }: Pick<Decision, 'answer' | 'digest' | 'now'>,
): Promise<boolean> {
  const { thread_id, id, tool_name } = request
  const requested = { thread_id, id, kind: 'call', call_id: id, tool_name, requested_at: now } as const
  const row = { ...requested, status: 'early', answered_at: now, answer: answer ?? null } as const
  const result = await tx
    .insertInto('pending')
    .values(codec.toRow({ ...row, answer_digest: digest ?? null }))
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

/** The call makes its request: takes an early answer. Returns whether there was one. */
export async function takeEarlyAnswer(
  tx: Writer,
  {
    threadId,
    id,
    now,
    detail,
  }: { readonly threadId: string; readonly id: string; readonly now: Micros } & Pick<PendingRecord, 'detail'>,
): Promise<boolean> {
  const result = await tx
    .updateTable('pending')
    .set(codec.toRow({ status: 'answered' as const, requested_at: now, detail }))
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .where('status', '=', 'early')
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** Whether the call of an early answer has ended without a request: nothing will use the answer. */
export async function isDropped(
  db: Reader,
  { thread_id: threadId, id, status }: Pick<PendingRecord, 'thread_id' | 'id' | 'status'>,
): Promise<boolean> {
  return status === 'early' && (await findToolCall(db, threadId, id))?.status !== 'open'
}

export async function findRequest(db: Reader, threadId: string, id: string): Promise<PendingRecord | null> {
  const row = await db
    .selectFrom('pending')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row === undefined ? null : requestFromRow(row)
}

/** Those of these requests that a thread has, in no order. */
export async function findRequests(
  db: Reader,
  threadId: string,
  ids: readonly string[],
): Promise<readonly PendingRecord[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('pending')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('id', 'in', [...ids])
    .execute()
  return rows.map(requestFromRow)
}

/** The reference of the deferred subagent that needs this request; null for any other request. */
export function deferredChildOf({ kind, detail }: Pick<PendingRecord, 'kind' | 'detail'>): string | null {
  const child = kind === 'variables' ? detail?.['child'] : undefined
  return typeof child === 'string' ? child : null
}

interface BudgetRequests {
  readonly threadId: string
  /** The id of the operation that does not fit into a budget. */
  readonly operation: string
}

/** The requests to raise a limit that an operation has made, oldest first. */
export async function listBudgetRequests(
  db: Reader,
  { threadId, operation }: BudgetRequests,
): Promise<readonly PendingRecord[]> {
  const rows = await db
    .selectFrom('pending')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('kind', '=', 'budget')
    .orderBy('requested_at')
    .orderBy('id')
    .execute()
  return rows.map(requestFromRow).filter(({ detail }) => detail?.['operation'] === operation)
}

/** The requests about one limit, of all threads, whose answers no call has taken. */
export async function listBudgetRequestsOf(
  db: Reader,
  { owner, period, limit }: { readonly owner: string; readonly period: string; readonly limit: string },
): Promise<readonly PendingRecord[]> {
  const rows = await db
    .selectFrom('pending')
    .selectAll()
    .where('kind', '=', 'budget')
    .where('status', 'in', ['open', 'answered'])
    .where('digest', '=', `${owner} ${period} ${limit}`)
    .orderBy('requested_at')
    .execute()
  return rows.map(requestFromRow)
}

/** Marks the answer to a request for a higher limit as taken. `taken` is false for one that was taken before, or has no answer. */
export async function takeBudgetAnswer(
  tx: Writer,
  { threadId, id }: { readonly threadId: string; readonly id: string },
): Promise<{ readonly taken: boolean; readonly request: PendingRecord }> {
  const request = await findRequest(tx, threadId, id)
  if (request === null) throw new Error(`Expected the request ${id}, found none.`)
  const { detail, status } = request
  if (status !== 'answered' || detail?.['taken'] === true) return { taken: false, request }
  await tx
    .updateTable('pending')
    .set(codec.toRow({ detail: { ...detail, taken: true } }))
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .execute()
  return { taken: true, request }
}

/** All requests that one call has made, oldest first. */
export async function requestsOfCall(
  db: Reader,
  threadId: string,
  callId: string,
): Promise<readonly PendingRecord[]> {
  const rows = await db
    .selectFrom('pending')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('call_id', '=', callId)
    .orderBy('requested_at')
    .orderBy('id')
    .execute()
  return rows.map(requestFromRow)
}

/** A decision on a request; `answer` is a result, the names of variables, or what a person changed and wants remembered. */
export interface Decision {
  readonly threadId: string
  readonly id: string
  readonly approved?: boolean
  readonly reason?: string
  readonly by?: string
  readonly answer?: JsonValue
  /** Digest of what the caller gave, where `answer` differs each time: files are stored under new paths. */
  readonly digest?: string
  readonly now: Micros
}

/**
 * Writes a decision into its open request. `again`: the same decision is recorded already. `refused`: another decision is
 * recorded, or the request is closed. `unknown`: there is no such request.
 */
export async function answerRequest(
  tx: Writer,
  decision: Decision,
): Promise<'answered' | 'again' | 'refused' | 'unknown'> {
  const { threadId, id, approved, reason, by, answer, digest, now } = decision
  const found = await findRequest(tx, threadId, id)
  if (found === null) return 'unknown'
  const answerDigest = digest ?? digestOf([approved ?? null, reason ?? null, answer ?? null])
  if (found.status !== 'open') {
    const isSame = !isEnded(found) && found.answer_digest === answerDigest
    return isSame && !(await isDropped(tx, found)) ? 'again' : 'refused'
  }
  await tx
    .updateTable('pending')
    .set({
      status: 'answered',
      answered_at: now,
      answered_by: by ?? null,
      approved: approved === undefined ? null : approved ? 1 : 0,
      reason: reason ?? null,
      answer: answer === undefined ? null : JSON.stringify(answer),
      answer_digest: answerDigest,
    })
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .execute()
  return 'answered'
}

/** Whether the request takes no answer any more, and never had one. */
export function isEnded({ status }: Pick<PendingRecord, 'status'>): boolean {
  return status === 'closed' || status === 'expired'
}

/** Marks a request as expired, if nobody has answered it. Returns whether nobody had. */
export async function expireRequest(
  tx: Writer,
  { threadId, id }: { readonly threadId: string; readonly id: string },
): Promise<boolean> {
  const result = await tx
    .updateTable('pending')
    .set({ status: 'expired' })
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .where('status', '=', 'open')
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** Selects requests of a thread: all, those of some calls, of a kind, or some by their ids. */
interface RequestChoice {
  readonly kind?: PendingRecord['kind']
  readonly threadId: string
  readonly callIds?: readonly string[]
  readonly ids?: readonly string[]
}

/** Closes open requests, and of calls also early answers; returns them as they are then. */
export async function closeRequests(
  tx: Writer,
  { threadId, kind, callIds, ids }: RequestChoice,
): Promise<readonly PendingRecord[]> {
  if (callIds?.length === 0 || ids?.length === 0) return []
  let query = tx
    .updateTable('pending')
    .set({ status: 'closed' })
    .where('thread_id', '=', threadId)
    .where('status', 'in', callIds === undefined ? ['open'] : ['open', 'early'])
  if (callIds !== undefined) query = query.where('call_id', 'in', callIds)
  if (ids !== undefined) query = query.where('id', 'in', ids)
  if (kind !== undefined) query = query.where('kind', '=', kind)
  const closed = (await query.returningAll().execute()).map(requestFromRow)
  // An update returns rows in any order.
  return closed.toSorted(
    (one, other) => one.requested_at - other.requested_at || (one.id < other.id ? -1 : 1),
  )
}

/** Open requests, oldest first, of one thread or of all. */
export async function listOpenRequests(
  db: Reader,
  { threadId, limit }: { readonly threadId?: string; readonly limit: number },
): Promise<readonly PendingRecord[]> {
  let query = db
    .selectFrom('pending')
    .selectAll()
    // A literal, not a parameter: otherwise SQLite would not use the partial index of open requests.
    .where('status', '=', sql.lit('open'))
  if (threadId !== undefined) query = query.where('thread_id', '=', threadId)
  const rows = await query.orderBy('requested_at').orderBy('thread_id').orderBy('id').limit(limit).execute()
  return rows.map(requestFromRow)
}

export function requestFromRow(row: Selectable<Schema['pending']>): PendingRecord {
  const record = codec.fromRow(row)
  return { ...record, approved: row.approved === null ? null : row.approved !== 0 }
}

/** `waiting`: nothing has used the answer yet; `ended`: the call or child of the request ended without it. */
type AnswerFate = 'waiting' | 'taken' | 'ended'

/** Whether a recorded answer was used, judged by the later rows of its call or its thread. */
export async function answerFate(db: Reader, request: PendingRecord): Promise<AnswerFate> {
  const child = deferredChildOf(request)
  if (child !== null) return fateOfChild(db, request.thread_id, child)
  if (request.kind === 'budget') return fateOfBudget(db, request)
  if (request.call_id !== null) return fateOfCall(db, request, request.call_id)
  // A run that was blocked has ended; the next run has checked the variables again.
  const run = await lastRun(db, request.thread_id)
  return run !== null && run.started_at > request.requested_at ? 'taken' : 'waiting'
}

/** Decided by the registry: hooks may have written to the transcript of a deferred child before it starts. */
async function fateOfChild(db: Reader, parentThreadId: string, reference: string): Promise<AnswerFate> {
  const thread = await findThread(db, reference)
  if (thread === null || thread.closed_at !== null) return 'ended'
  return (await findChild(db, parentThreadId, reference))?.status === 'deferred' ? 'waiting' : 'taken'
}

/** The call that did not fit has gone on, or its run has ended without it. */
async function fateOfBudget(db: Reader, request: PendingRecord): Promise<AnswerFate> {
  const { thread_id: threadId, id } = request
  const known = await findRequest(db, threadId, id)
  if (known?.detail?.['taken'] === true) return 'taken'
  // Written by `stopAtBudget`: the store's boundary.
  const run = await findRun(db, { threadId, number: Number(request.detail?.['run'] ?? 0) })
  return run?.ended_at === null ? 'waiting' : 'ended'
}

async function fateOfCall(db: Reader, request: PendingRecord, callId: string): Promise<AnswerFate> {
  const { thread_id: threadId } = request
  const call = await findToolCall(db, threadId, callId)
  if (call === null || call.status === 'interrupted' || call.status === 'cancelled') return 'ended'
  if (call.status !== 'open') return 'taken'
  // A call may wait again, under a new request. An early result is no request.
  const requests = (await requestsOfCall(db, threadId, callId)).filter(({ status }) => status !== 'early')
  const newest = requests.at(-1)
  if (newest !== undefined && newest.id !== request.id) return 'taken'
  // The first operation of a call whose result comes from outside finishes when it makes the request.
  const operation = await findOperation(db, threadId, callId)
  if (request.kind === 'call' && operation?.state === 'finished')
    return (await findOperation(db, threadId, resultOperationId(callId))) === null ? 'waiting' : 'taken'
  return operation?.state === 'waiting' ? 'waiting' : 'taken'
}
