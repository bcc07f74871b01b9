import { createHash, randomBytes } from 'node:crypto'
import type { RunContext } from '../policy/run-context.js'
import { MessageRejectedError, ThreadError } from '../protocol/errors.js'
import { idempotencyKeyOf } from '../protocol/ids.js'
import { LIMITS } from '../protocol/limits.js'
import type { JsonObject } from '../protocol/values.js'
import {
  findRemoteCall,
  finishRemoteCall,
  holdsClaim,
  isAnswered,
  putClaim,
  putStagedFile,
  openRemoteVariables,
  remoteRedactor,
  sealResult,
} from '../store/calls/remote-calls.js'
import type { RemoteKey, RemoteRecord, StagedFile } from '../store/calls/remote-calls.js'
import { statFile } from '../store/files/files.js'
import type { StoredBlob } from '../store/files/blob-store.js'
import { filePathProblem } from '../store/files/file-checks.js'
import { StoreError } from '../store/store-error.js'
import type { Reader, Store, Writer } from '../store/store.js'
import { isOpen } from '../store/threads/open-threads.js'
import { readCallContext } from '../store/threads/run-context.js'
import { findThread } from '../store/threads/threads.js'
import { checkAnswer } from './answers/check-answer.js'
import type { CheckedResult } from './answers/check-answer.js'
import { digestResult, buildResult } from './answers/respond.js'
import type { ClientContext } from './client-context.js'
import { toMicros, nowMicros } from '../protocol/time.js'
import type { Micros } from '../protocol/time.js'

/** The number of files that one call may stage; each is an entry in its row. */
const REMOTE_FILES = 100

/**
 * `not_found`: this worker has no such call. `taken`, `answered`, `ended`: nothing is left to do. `token`: the token is not of
 * the newest claim. `file`, `file_size`: the path or the file cannot be written.
 */
export type RemoteCallProblem = 'not_found' | 'taken' | 'answered' | 'ended' | 'token' | 'file' | 'file_size'

const SENTENCES: Readonly<Record<Exclude<RemoteCallProblem, 'file' | 'file_size'>, string>> = {
  not_found: 'there is no such call for this worker: check the task queues of its token',
  taken: 'another worker has taken it, and the tool must not run twice',
  answered: 'it has another answer already',
  ended: 'it was ended, and accepts nothing any more',
  token: 'this token is not of its newest claim, or has expired: claim it again',
}

/** Why a worker in another language may not read or write a call. */
export class RemoteCallError extends ThreadError {
  readonly callId: string
  readonly problem: RemoteCallProblem

  constructor(
    call: { readonly threadId: string; readonly callId: string },
    problem: RemoteCallProblem,
    words?: string,
  ) {
    super(`call_${problem}`, call.threadId, words ?? describeProblem(call, problem))
    this.callId = call.callId
    this.problem = problem
  }

  static override isInstance(error: unknown): error is RemoteCallError {
    return ThreadError.isInstance(error) && error.code.startsWith('call_')
  }
}

function describeProblem(
  { threadId, callId }: { readonly threadId: string; readonly callId: string },
  problem: RemoteCallProblem,
): string {
  const expected = `Expected a call "${callId}" of thread "${threadId}" to work at`
  if (problem === 'file' || problem === 'file_size') return `${expected}, got a file that cannot be written.`
  return `${expected}, got none: ${SENTENCES[problem]}.`
}

/** The key of a call, and the token of the claim that holds it. */
export interface HeldRemoteCall extends RemoteKey {
  readonly token: string
}

/** Reads the call that the token holds or has answered. @throws RemoteCallError */
async function requireTokenHolder(db: Reader, held: HeldRemoteCall): Promise<RemoteRecord> {
  const record = await findRemoteCall(db, held)
  // A caller without the token learns nothing, not even whether the call exists.
  if (record === null || !holdsClaim(record, digestOfToken(held.token)))
    throw new RemoteCallError(held, 'token')
  if (isAnswered(record)) return record
  const thread = await findThread(db, held.threadId)
  if (record.state === 'finished' || thread === null || !isOpen(thread))
    throw new RemoteCallError(held, 'ended')
  if ((record.claim?.expiresAt ?? 0) <= Date.now()) throw new RemoteCallError(held, 'token')
  return record
}

/** Reads the call that the token holds and that waits for its answer. @throws RemoteCallError */
async function requireHeldCall(db: Reader, held: HeldRemoteCall): Promise<RemoteRecord> {
  const record = await requireTokenHolder(db, held)
  if (isAnswered(record)) throw new RemoteCallError(held, 'answered')
  return record
}

export interface ClaimRemoteCall extends RemoteKey {
  /** The worker makes it, a new one for each attempt: the same id again is the same claim. */
  readonly claimId: string
  /** The task queues of the worker: it gets the calls of no other queue. */
  readonly taskQueues: readonly string[]
}

/** A call as its worker gets it. */
export interface ClaimedCall {
  /** Allows to read and write files of the call, and to answer it. Only its digest is stored. */
  readonly token: string
  /** When the time of the tool ends. */
  readonly deadline: Micros
  /** When the token expires. */
  readonly expiresAt: Micros
  readonly tool: string
  /** From 1: how often the call was claimed. */
  readonly attempt: number
  /** The same in every attempt. */
  readonly idempotencyKey: string
  readonly arguments: JsonObject
  readonly variables: Readonly<Record<string, string>>
  /** The W3C trace context of the call, for spans of the worker; null when tracing is off. */
  readonly traceparent: string | null
  /** The step of the call, as events have it; null: its row is gone. */
  readonly stepId: string | null
  /** Who the run is, where it comes from and what binds it. */
  readonly runContext: RunContext | null
}

const TOKEN_BYTES = 32

/**
 * Gives a call to one worker. The call of a tool that is not idempotent is given once; that of an idempotent tool may be given
 * again, which invalidates the token of the claim before.
 * @throws RemoteCallError
 */
export async function claimCall(context: ClientContext, claim: ClaimRemoteCall): Promise<ClaimedCall> {
  const { threadId, callId, claimId, taskQueues } = claim
  const store = await context.store()
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const now = Date.now()
  const { record, attempt, variables } = await store.write(async (tx) => {
    const found = await requireClaimable(tx, claim)
    if (!taskQueues.includes(found.taskQueue)) throw new RemoteCallError(claim, 'not_found')
    const again = found.claim?.id === claimId
    if (found.claim !== null && !again && !found.idempotent) throw new RemoteCallError(claim, 'taken')
    const deadline = now + found.timeout
    const put = {
      id: claimId,
      tokenDigest: digestOfToken(token),
      deadline,
      expiresAt: deadline + LIMITS.remoteSlack,
    }
    // Opened before the claim is written: if the key is missing here, the call stays unclaimed.
    const opened = openRemoteVariables(store.secrets, claim, found).map(({ name, value }) => [name, value])
    await putClaim(tx, claim, { record: found, claim: put })
    const attempt = again ? found.attempt : found.attempt + 1
    return { record: { ...found, claim: put }, attempt, variables: opened }
  })
  const place = await store.read((db) => readCallContext(db, claim))
  return {
    token,
    deadline: toMicros(record.claim.deadline),
    expiresAt: toMicros(record.claim.expiresAt),
    tool: record.tool,
    attempt,
    idempotencyKey: idempotencyKeyOf(threadId, callId),
    arguments: record.args,
    variables: Object.fromEntries(variables) as Record<string, string>,
    traceparent: record.traceparent,
    stepId: place?.stepId ?? null,
    runContext: place?.runContext ?? null,
  }
}

async function requireClaimable(tx: Writer, key: RemoteKey): Promise<RemoteRecord> {
  const record = await findRemoteCall(tx, key)
  if (record === null) throw new RemoteCallError(key, 'not_found')
  const thread = await findThread(tx, key.threadId)
  if (isAnswered(record)) throw new RemoteCallError(key, 'answered')
  if (record.state === 'finished' || thread === null || !isOpen(thread))
    throw new RemoteCallError(key, 'ended')
  return record
}

function digestOfToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

interface CallFile {
  readonly mimeType: string
  readonly size: number
  readonly bytes: AsyncIterable<Uint8Array>
}

/**
 * Reads a file as the call sees it: its own staged files first, then those of the thread. Null if there is none.
 * @throws RemoteCallError
 */
async function readCallFile(
  context: ClientContext,
  held: HeldRemoteCall,
  path: string,
): Promise<CallFile | null> {
  checkPath(held, path)
  const store = await context.store()
  const found = await store.read(async (db) => {
    const record = await requireHeldCall(db, held)
    const { files } = record
    const kept = remoteRedactor(store.secrets, held, record).redact(path)
    const staged = Object.hasOwn(files, kept) ? files[kept] : undefined
    if (staged !== undefined) return staged
    const file = await statFile(db, held.threadId, path)
    return file === null || file.blob === null ? null : { ...file, digest: file.blob }
  })
  const bytes = found === null ? null : await store.blobs.stream(found.digest)
  return found === null || bytes === null ? null : { mimeType: found.mimeType, size: found.size, bytes }
}

/** A staged file, with the path under which it is kept. */
interface WrittenFile extends StagedFile {
  readonly path: string
}

/**
 * Stages a file of the call: it gets into the thread with the result, or not at all (T9). Its path and type are texts, so
 * secrets that the worker was given are redacted from them before they are in any row (T5). @throws RemoteCallError
 */
async function writeCallFile(
  context: ClientContext,
  held: HeldRemoteCall,
  given: {
    readonly path: string
    readonly mimeType: string
    readonly data: Uint8Array | AsyncIterable<Uint8Array>
  },
): Promise<WrittenFile> {
  checkPath(held, given.path)
  const store = await context.store()
  // Checked before the bytes are read: a caller without the token writes nothing.
  const { redact } = remoteRedactor(store.secrets, held, await store.read((db) => requireHeldCall(db, held)))
  const path = redact(given.path)
  checkPath(held, path)
  const file: StagedFile = { ...(await writeBlob(store, held, given.data)), mimeType: redact(given.mimeType) }
  return store.write(async (tx) => {
    const record = await requireHeldCall(tx, held)
    const { files } = record
    if (!Object.hasOwn(files, path) && Object.keys(files).length >= REMOTE_FILES)
      throw new RemoteCallError(
        held,
        'file',
        `Expected at most ${REMOTE_FILES} files of one call, got one more: pack them into one.`,
      )
    if ((await statFile(tx, held.threadId, path))?.isDirectory === true)
      throw new RemoteCallError(
        held,
        'file',
        `Expected a path for a file, got the folder ${path}: add a name.`,
      )
    await putStagedFile(tx, held, { record, path, file })
    return { ...file, path }
  })
}

async function writeBlob(
  store: Store,
  held: HeldRemoteCall,
  data: Uint8Array | AsyncIterable<Uint8Array>,
): Promise<StoredBlob> {
  try {
    return await store.blobs.write(data)
  } catch (error) {
    if (!StoreError.isInstance(error) || error.code !== 'too_large') throw error
    throw new RemoteCallError(held, 'file_size', error.message)
  }
}

function checkPath(held: HeldRemoteCall, path: string): void {
  const problem = filePathProblem(path)
  if (problem !== undefined) throw new RemoteCallError(held, 'file', problem)
}

/**
 * Writes the result of a call, before its activity ends (T2). The same result again changes nothing.
 * @throws RemoteCallError; MessageRejectedError for a value that is no result
 */
async function answerCall(context: ClientContext, held: HeldRemoteCall, result: unknown): Promise<void> {
  const { threadId } = held
  const store = await context.store()
  // Checked before the result is validated and the writer is awaited: a caller without the token costs one read.
  await store.read((db) => requireTokenHolder(db, held))
  const checked = checkAnswer(threadId, { result })
  if (checked.kind !== 'call') throw new MessageRejectedError(threadId, 'Expected the result of a tool.')
  const digest = digestResult(checked.result)
  const given = toStoredResult(threadId, checked.result)
  await store.write(async (tx) => {
    const record = await requireTokenHolder(tx, held)
    if (isAnswered(record)) {
      if (record.answer.digest !== digest) throw new RemoteCallError(held, 'answered')
      return
    }
    const { variables } = record
    const stored = sealResult(store.secrets, held, { variables, result: given })
    const answer = { type: 'answered', result: stored, digest } as const
    await finishRemoteCall(tx, held, { record, answer, now: nowMicros() })
  })
}

/** A result names its files by their paths, because bytes in a result would make a row of as many megabytes. */
function toStoredResult(threadId: string, result: CheckedResult): JsonObject {
  const files = result.files.map((file) => {
    if (file.kind === 'file')
      return { path: file.path, ...(file.description !== null && { description: file.description }) }
    throw new MessageRejectedError(
      threadId,
      `Expected the file "${file.name}" by its path, got its data: write it first, then name its path.`,
    )
  })
  return buildResult(result, files)
}

/** What a worker in another language does with its calls; the routes of the HTTP server offer this to one worker each. */
export interface RemoteCalls {
  /** @throws RemoteCallError */
  claim(call: ClaimRemoteCall): Promise<ClaimedCall>
  /** Null if there is no such file. @throws RemoteCallError */
  readFile(held: HeldRemoteCall, path: string): Promise<CallFile | null>
  /**
   * Returns the path under which the file is kept, without the secrets of the call. @throws RemoteCallError, also over
   * 100 MB
   */
  writeFile(held: HeldRemoteCall, file: Parameters<typeof writeCallFile>[2]): Promise<WrittenFile>
  /** `result`: a `ToolResult`, which is checked. @throws RemoteCallError, MessageRejectedError */
  answer(held: HeldRemoteCall, result: unknown): Promise<void>
}

export function remoteCalls(context: ClientContext): RemoteCalls {
  return {
    claim: (call) => claimCall(context, call),
    readFile: (held, path) => readCallFile(context, held, path),
    writeFile: (held, file) => writeCallFile(context, held, file),
    answer: (held, result) => answerCall(context, held, result),
  }
}
