/**
 * A tool call that a worker in another language carries out: an operation of its own. `waiting`: nobody has taken it;
 * `started`: the holder of one token has, and its attempt is the number of that claim; `finished`: answered, or cut. What
 * the worker may know, the files that it writes and its answer are here; nothing of it is in Temporal (T5).
 */
import { timingSafeEqual } from 'node:crypto'
import { sql } from 'kysely'
import { remoteOperationId } from '../../protocol/ids.js'
import type { JsonObject } from '../../protocol/values.js'
import type { StoredBlob } from '../files/blob-store.js'
import { findOperation, finishOperation, insertOperation, takeOperation } from '../operations.js'
import type { OperationRecord } from '../operations.js'
import type { Sealed } from '../secret-box.js'
import type { Reader, Writer } from '../store.js'

/** What is known of a call before anybody takes it. */
export interface RemoteCall {
  readonly tool: string
  readonly taskQueue: string
  /** Milliseconds from a claim. */
  readonly timeout: number
  readonly idempotent: boolean
  /** Parsed, with defaults. */
  readonly args: JsonObject
  /** Those that the tool declares and that have a value; secrets are sealed, and forgotten when the call has ended. */
  readonly variables: Readonly<Record<string, { readonly value: string; readonly keyId: string | null }>>
  /** W3C trace context of the call; null while nobody traces. */
  readonly traceparent: string | null
}

/** Whoever has the token may answer, until it expires. */
interface RemoteClaim {
  /** Made by the worker, one for each attempt: the same one again is a claim whose answer got lost. */
  readonly id: string
  /** SHA-256: the token itself is nowhere. */
  readonly tokenDigest: string
  /** Milliseconds since 1970. */
  readonly deadline: number
  readonly expiresAt: number
}

/** A file that the call has written; it comes into the thread with the result (T9). */
export interface StagedFile extends StoredBlob {
  readonly mimeType: string
}

interface RemoteDetail extends RemoteCall {
  readonly claim: RemoteClaim | null
  readonly files: Readonly<Record<string, StagedFile>>
}

export interface RemoteRecord extends RemoteDetail {
  readonly state: OperationRecord['state']
  readonly attempt: number
  /** Null until it is finished; without a result it was cut. */
  readonly answer: RemoteAnswerRow | { readonly type: string } | null
}

export interface RemoteAnswerRow {
  readonly type: 'answered'
  readonly digest: string
  /** A `ToolResult` that names files of the thread or of the call; null: it was sealed, and the call has ended. */
  readonly result: StoredResult | null
}

/** Sealed where the worker was given secrets: it may repeat one, and only the call's completion takes them out. */
export type StoredResult = { readonly plain: JsonObject } | { readonly sealed: Sealed }

/** Which call of which thread. */
export interface RemoteKey {
  readonly threadId: string
  readonly callId: string
}

export async function insertRemoteCall(
  tx: Writer,
  { threadId, callId }: RemoteKey,
  { call, now }: { readonly call: RemoteCall; readonly now: number },
): Promise<void> {
  const detail: RemoteDetail = { ...call, claim: null, files: {} }
  const operation = { thread_id: threadId, id: remoteOperationId(callId), kind: 'remote' } as const
  await insertOperation(tx, { ...operation, state: 'waiting', attempt: 0, detail, started_at: now })
}

export async function findRemoteCall(
  db: Reader,
  { threadId, callId }: RemoteKey,
): Promise<RemoteRecord | null> {
  const row = await findOperation(db, threadId, remoteOperationId(callId))
  if (row === null) return null
  const { state, attempt, detail, answer } = row
  // Written by `insertRemoteCall` and those below: the store's boundary.
  return { ...(detail as RemoteDetail), state, attempt, answer: answer as RemoteRecord['answer'] }
}

export function isAnswered<R extends RemoteRecord>(
  record: R,
): record is R & { readonly answer: RemoteAnswerRow } {
  return record.answer?.type === 'answered'
}

/** Whether this is the token of the newest claim; it stays so after the answer, which may be given again. */
export function holdsClaim({ claim }: RemoteRecord, tokenDigest: string): boolean {
  if (claim === null) return false
  const [held, given] = [Buffer.from(claim.tokenDigest, 'hex'), Buffer.from(tokenDigest, 'hex')]
  return held.length === given.length && timingSafeEqual(held, given)
}

/** Gives the call to a new token; what an earlier attempt has staged goes with its token (T9). */
export async function putClaim(
  tx: Writer,
  key: RemoteKey,
  { record, claim }: { readonly record: RemoteRecord; readonly claim: RemoteClaim },
): Promise<void> {
  const again = record.claim?.id === claim.id
  const attempt = again ? record.attempt : record.attempt + 1
  const detail = { ...detailOf(record), claim, ...(again ? {} : { files: {} }) }
  await hold(tx, key, { attempt, detail })
}

export async function putStagedFile(
  tx: Writer,
  key: RemoteKey,
  { record, path, file }: { readonly record: RemoteRecord; readonly path: string; readonly file: StagedFile },
): Promise<void> {
  const detail = { ...detailOf(record), files: { ...record.files, [path]: file } }
  await hold(tx, key, { attempt: record.attempt, detail })
}

async function hold(
  tx: Writer,
  { threadId, callId }: RemoteKey,
  { attempt, detail }: { readonly attempt: number; readonly detail: RemoteDetail },
): Promise<void> {
  const id = remoteOperationId(callId)
  await takeOperation(tx, { threadId, id, attempt, state: 'started', detail })
}

/** From now on nobody may answer it: `answered` or why not. */
export async function finishRemoteCall(
  tx: Writer,
  { threadId, callId }: RemoteKey,
  {
    record,
    answer,
    now,
  }: {
    readonly record: RemoteRecord
    readonly answer: RemoteAnswerRow | UnansweredRow
    readonly now: number
  },
): Promise<void> {
  const id = remoteOperationId(callId)
  await finishOperation(tx, { threadId, id, attempt: record.attempt, answer, now })
}

/** The activity has ended, and the call without an answer. */
export interface UnansweredRow {
  readonly type: 'unanswered'
  /** Somebody had taken it. */
  readonly taken: boolean
}

function detailOf({
  state: _state,
  attempt: _attempt,
  answer: _answer,
  ...detail
}: RemoteRecord): RemoteDetail {
  return detail
}

interface OpenRemoteCall extends RemoteKey {
  readonly record: RemoteRecord
}

/** Remote calls whose result is not in their thread yet, answered ones too: what they have staged or sealed is needed. */
export async function openRemoteCalls(db: Reader): Promise<readonly OpenRemoteCall[]> {
  const keys = await db
    .selectFrom('tool_calls')
    // As `remoteOperationId` makes them: by the key of operations, of which there are many more than open calls.
    .innerJoin('operations', (join) =>
      join
        .onRef('operations.thread_id', '=', 'tool_calls.thread_id')
        .on('operations.id', '=', sql<string>`${sql.ref('tool_calls.id')} || '_remote'`),
    )
    .select(['tool_calls.thread_id as threadId', 'tool_calls.id as callId'])
    // Written out, not bound: only so SQLite sees that the index of open calls holds them all.
    .where('tool_calls.status', '=', sql.lit('open'))
    .where('operations.kind', '=', 'remote')
    .execute()
  const calls: OpenRemoteCall[] = []
  for (const key of keys) {
    const record = await findRemoteCall(db, key)
    if (record !== null) calls.push({ ...key, record })
  }
  return calls
}

/** Bytes that a call has written and no file names before its result is stored. */
export async function stagedDigests(db: Reader): Promise<ReadonlySet<string>> {
  const calls = await openRemoteCalls(db)
  return new Set(calls.flatMap(({ record }) => Object.values(record.files).map(({ digest }) => digest)))
}
