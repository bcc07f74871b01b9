/**
 * A tool call that a worker in another language executes: an operation of its own. `waiting`: unclaimed; `started`: claimed by
 * the holder of one token, and the attempt is the number of that claim; `finished`: answered or cancelled. Its row holds what
 * the worker may read, the files that it writes, and its answer; none of these is in Temporal (T5).
 */

import { timingSafeEqual } from 'node:crypto'

import { sql } from 'kysely'

import { remoteOperationId } from '../../protocol/ids.js'
import type { JsonObject } from '../../protocol/values.js'
import type { StoredBlob } from '../files/blob-store.js'
import { findOperation, finishOperation, insertOperation, takeOperation } from '../operations.js'
import type { OperationRecord } from '../operations.js'
import type { Sealed, SecretBox, SecretPlace } from '../secret-box.js'
import type { Reader, Store, Writer } from '../store.js'
import type { Micros, Millis } from '../../protocol/time.js'
import { createTextRedactor } from '../../policy/text-redactor.js'
import type { TextRedactor } from '../../policy/text-redactor.js'

/** A call before it is claimed. */
export interface RemoteCall {
  readonly tool: string
  readonly taskQueue: string
  /** Milliseconds from the claim to its deadline. */
  readonly timeout: number
  readonly idempotent: boolean
  /** The parsed arguments, with defaults. */
  readonly args: JsonObject
  /** The declared variables that have a value. Secrets are sealed, and deleted when the call ends. */
  readonly variables: Readonly<Record<string, { readonly value: string; readonly keyId: string | null }>>
  /** W3C trace context of the call; null without tracing. */
  readonly traceparent: string | null
}

/** A claim: the holder of its token may answer until the deadline. */
interface RemoteClaim {
  /** Made by the worker for each attempt: the same id again repeats a claim whose response was lost. */
  readonly id: string
  /** SHA-256 of the token, which is not stored itself. */
  readonly tokenDigest: string
  readonly deadline: Millis
  readonly expiresAt: Millis
}

/** A file that the call has written. It becomes a file of the thread with the result (T9). */
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
  /** Null until it is finished; without a result if it was cancelled. */
  readonly answer: RemoteAnswerRow | { readonly type: string } | null
}

export interface RemoteAnswerRow {
  readonly type: 'answered'
  readonly digest: string
  /** A `ToolResult` that names files of the thread or of the call; null: it was sealed and is deleted. */
  readonly result: StoredResult | null
}

/** Sealed if the worker received secrets: the result may contain one until the completion of the call redacts it. */
type StoredResult = { readonly plain: JsonObject } | { readonly sealed: Sealed }

/** Names a call of a thread. */
export interface RemoteKey {
  readonly threadId: string
  readonly callId: string
}

export async function insertRemoteCall(
  tx: Writer,
  { threadId, callId }: RemoteKey,
  { call, now }: { readonly call: RemoteCall; readonly now: Micros },
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

/** Whether the token belongs to the newest claim. It does after the answer too, because a worker may repeat its answer. */
export function holdsClaim({ claim }: RemoteRecord, tokenDigest: string): boolean {
  if (claim === null) return false
  const [held, given] = [Buffer.from(claim.tokenDigest, 'hex'), Buffer.from(tokenDigest, 'hex')]
  return held.length === given.length && timingSafeEqual(held, given)
}

/** Claims the call for a new token, and drops what the previous claim has staged (T9). */
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

/** Finishes the call: no further answer is accepted. */
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
    readonly now: Micros
  },
): Promise<void> {
  const id = remoteOperationId(callId)
  await finishOperation(tx, { threadId, id, attempt: record.attempt, answer, now })
}

/** The end of a call without an answer. */
export interface UnansweredRow {
  readonly type: 'unanswered'
  /** Whether the call was claimed. */
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

/** Remote calls whose result is not in their thread yet, also answered ones: their staged files and secrets are still needed. */
async function listOpenRemoteCalls(db: Reader): Promise<readonly OpenRemoteCall[]> {
  const keys = await db
    .selectFrom('tool_calls')
    // Joins by the primary key, the id that `remoteOperationId` makes: there are far more operations than open calls.
    .innerJoin('operations', (join) =>
      join
        .onRef('operations.thread_id', '=', 'tool_calls.thread_id')
        .on('operations.id', '=', sql<string>`${sql.ref('tool_calls.id')} || '_remote'`),
    )
    .select(['tool_calls.thread_id as threadId', 'tool_calls.id as callId'])
    // A literal, not a parameter: otherwise SQLite would not use the partial index of open calls.
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

/** Digests of staged bytes, which no file names before the result of their call is stored. */
export async function listStagedDigests(db: Reader): Promise<ReadonlySet<string>> {
  const calls = await listOpenRemoteCalls(db)
  return new Set(calls.flatMap(({ record }) => Object.values(record.files).map(({ digest }) => digest)))
}

/** The keys that open remote calls need, to be claimed or completed. */
export async function remoteKeyIds(db: Reader): Promise<ReadonlySet<string>> {
  const calls = await listOpenRemoteCalls(db)
  return new Set(calls.flatMap(({ record }) => findSealed(record).map(({ keyId }) => keyId)))
}

function findSealed(record: RemoteRecord): readonly Sealed[] {
  const variables = Object.values(record.variables).filter(isSealed)
  const result = findSealedResult(record)
  return result === null ? variables : [...variables, result]
}

function isSealed<V extends { readonly keyId: string | null }>(
  variable: V,
): variable is V & { readonly keyId: string } {
  return variable.keyId !== null
}

function findSealedResult(record: RemoteRecord): Sealed | null {
  const result = isAnswered(record) ? record.answer.result : null
  return result !== null && 'sealed' in result ? result.sealed : null
}

/** Seals again, with the first key, every secret that another key sealed; returns their number. @throws StoreError `no_key` */
export async function rotateRemoteSecrets(store: Store): Promise<number> {
  let rotated = 0
  for (const { threadId, callId } of await store.read(listOpenRemoteCalls))
    rotated += await store.write((tx) => rotateCall(tx, store.secrets, { threadId, callId }))
  return rotated
}

async function rotateCall(tx: Writer, secrets: SecretBox, key: RemoteKey): Promise<number> {
  const record = await findRemoteCall(tx, key)
  if (record === null) return 0
  const [newest = ''] = secrets.keyIds
  const old = findSealed(record).filter(({ keyId }) => keyId !== newest).length
  if (old === 0) return 0
  const anew = (sealed: Sealed, place: SecretPlace) => secrets.seal(secrets.open(sealed, place), place)
  const variables = Object.entries(record.variables).map(([name, variable]) => [
    name,
    isSealed(variable) ? anew(variable, remoteSecretPlace(key, name)) : variable,
  ])
  const sealed = findSealedResult(record)
  await putSecrets(tx, key, {
    record,
    variables: Object.fromEntries(variables) as RemoteRecord['variables'],
    ...(sealed !== null && { result: { sealed: anew(sealed, remoteResultPlace(key)) } }),
  })
  return old
}

/** Deletes the secrets of calls that have ended, so that no key has to be kept for them. Other calls are ignored. */
export async function forgetRemoteSecrets(
  tx: Writer,
  { threadId, callIds }: { readonly threadId: string; readonly callIds: readonly string[] },
): Promise<void> {
  for (const callId of callIds) {
    const record = await findRemoteCall(tx, { threadId, callId })
    if (record === null || findSealed(record).length === 0) continue
    const texts = Object.entries(record.variables).filter(([, variable]) => !isSealed(variable))
    await putSecrets(
      tx,
      { threadId, callId },
      {
        record,
        variables: Object.fromEntries(texts),
        ...(findSealedResult(record) !== null && { result: null }),
      },
    )
  }
}

async function putSecrets(
  tx: Writer,
  key: RemoteKey,
  {
    record,
    variables,
    result,
  }: {
    readonly record: RemoteRecord
    readonly variables: RemoteRecord['variables']
    /** The result of the answer; left out: unchanged. */
    readonly result?: StoredResult | null
  },
): Promise<void> {
  const { state: _state, attempt: _attempt, answer, ...detail } = record
  await tx
    .updateTable('operations')
    .set({
      detail: JSON.stringify({ ...detail, variables }),
      ...(result === undefined ? {} : { answer: JSON.stringify({ ...answer, result }) }),
    })
    .where('thread_id', '=', key.threadId)
    .where('id', '=', remoteOperationId(key.callId))
    .execute()
}

interface RemoteVariable {
  readonly name: string
  readonly value: string
  readonly secret: boolean
}

/** No variable can have this name. */
const RESULT = '\n result'

/** Binds a secret to its remote call: it cannot be opened for another one. */
export function remoteSecretPlace({ threadId, callId }: RemoteKey, name: string): SecretPlace {
  return { threadId, name: `${remoteOperationId(callId)}:${name}` }
}

/** The same for its result. */
function remoteResultPlace(key: RemoteKey): SecretPlace {
  return remoteSecretPlace(key, RESULT)
}

/** @throws StoreError `no_key`, `corrupt` */
export function openRemoteVariables(
  secrets: SecretBox,
  key: RemoteKey,
  { variables }: Pick<RemoteCall, 'variables'>,
): readonly RemoteVariable[] {
  return Object.entries(variables).map(([name, { value, keyId }]) => {
    const secret = keyId !== null
    return {
      name,
      secret,
      value: secret ? secrets.open({ value, keyId }, remoteSecretPlace(key, name)) : value,
    }
  })
}

/** Redacts the secrets that a worker received from what it writes (T5). @throws StoreError `no_key`, `corrupt` */
export function remoteRedactor(
  secrets: SecretBox,
  key: RemoteKey,
  call: Pick<RemoteCall, 'variables'>,
): TextRedactor {
  const redactor = createTextRedactor()
  for (const { name, value, secret } of openRemoteVariables(secrets, key, call))
    if (secret) redactor.note(name, value)
  return redactor
}

/** @throws StoreError `no_key` */
export function sealResult(
  secrets: SecretBox,
  key: RemoteKey,
  { variables, result }: Pick<RemoteCall, 'variables'> & { readonly result: JsonObject },
): StoredResult {
  if (Object.values(variables).every(({ keyId }) => keyId === null)) return { plain: result }
  return { sealed: secrets.seal(JSON.stringify(result), remoteResultPlace(key)) }
}

/** @throws StoreError `no_key`, `corrupt` */
export function openResult(secrets: SecretBox, key: RemoteKey, stored: StoredResult): JsonObject {
  if ('plain' in stored) return stored.plain
  return JSON.parse(secrets.open(stored.sealed, remoteResultPlace(key))) as JsonObject
}
