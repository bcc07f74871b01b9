import { MessageRejectedError, RequestNotFoundError } from '../protocol/errors.js'
import type { JsonObject, JsonValue } from '../protocol/values.js'
import { answerRequest, findRequest, insertEarlyAnswer, isDropped } from '../store/calls/requests.js'
import type { Decision, PendingRecord } from '../store/calls/requests.js'
import { findToolCall } from '../store/calls/tool-calls.js'
import { digestOf } from '../store/digest.js'
import type { Reader, Store, Writer } from '../store/store.js'
import type { CheckedAnswer, CheckedResult } from './check-answer.js'
import { microseconds } from './clock.js'
import { isOpen, knownThread } from './open-thread.js'
import { attachmentDigest, placeAttachments, storeBytes } from './place-attachments.js'
import type { StoredAttachment } from './place-attachments.js'

interface Answering {
  readonly threadId: string
  readonly requestId: string
  readonly answer: Exclude<CheckedAnswer, { readonly kind: 'variables' }>
}

/**
 * Writes an answer into the row of its request, before anything learns of it (T2): the files of a result first, then
 * the decision, which is refused if there is another one. Answers the row as it is then.
 * A result that comes before its call has asked is kept as `early`, for the call to find.
 * @throws RequestNotFoundError, MessageRejectedError for an answer of another kind
 */
export async function writeAnswer(store: Store, answering: Answering): Promise<PendingRecord> {
  const { threadId, requestId, answer } = answering
  // Before its files are written: a request that nobody waits for takes no bytes either.
  await store.read((db) => answerableRequest(db, { threadId, requestId, kind: answer.kind }))
  const files = answer.kind === 'call' ? await storeBytes(store, answer.result.files) : []
  return store.write(async (tx) => {
    const request = await answerableRequest(tx, { threadId, requestId, kind: answer.kind })
    const decision = { ...(await decisionOf(tx, answer, { request, files })), now: microseconds() }
    if (!isUnasked(request) || !(await insertEarlyAnswer(tx, request, decision))) await decide(tx, decision)
    return { ...request, approved: decision.approved ?? null, answer: decision.answer ?? null }
  })
}

/** The row of a request on which this kind of answer may be given. @throws RequestNotFoundError, MessageRejectedError */
export async function answerableRequest(
  db: Reader,
  {
    threadId,
    requestId,
    kind,
  }: { readonly threadId: string; readonly requestId: string; readonly kind: CheckedAnswer['kind'] },
): Promise<PendingRecord> {
  const thread = await knownThread(db, threadId)
  if (!isOpen(thread))
    throw new RequestNotFoundError(threadId, { id: requestId, reason: 'a thread that has ended' })
  const request =
    (await findRequest(db, threadId, requestId)) ?? (await unaskedRequest(db, { threadId, requestId, kind }))
  if (request.kind === kind) return request
  throw new MessageRejectedError(
    threadId,
    `Expected an answer { ${FORM[request.kind]} } to request "${requestId}", got { ${FORM[kind]} }.`,
  )
}

interface Unasked {
  readonly threadId: string
  readonly requestId: string
  readonly kind: CheckedAnswer['kind']
}

/**
 * A call that is under way may be asking in a moment: a tool gives its id away before it says that it waits. Its result is
 * kept; an approval is of nothing that anybody was shown.
 * @throws RequestNotFoundError for any other id, and for a call that is over
 */
async function unaskedRequest(db: Reader, { threadId, requestId, kind }: Unasked): Promise<PendingRecord> {
  const callId = kind === 'approval' ? requestId.replace(/^approval_/, '') : requestId
  const call = kind === 'variables' ? null : await findToolCall(db, threadId, callId)
  if (call?.status !== 'open')
    throw new RequestNotFoundError(threadId, { id: requestId, reason: 'no request of this id' })
  if (kind === 'approval')
    throw new RequestNotFoundError(threadId, {
      id: requestId,
      reason: 'an approval of a call that nobody was asked about yet',
    })
  const nothing = { digest: null, detail: null, approved: null, reason: null, answer: null } as const
  const asked = { kind: 'call', status: 'early', requested_at: 0, answered_at: null } as const
  const { name: tool_name } = call
  return {
    ...{ thread_id: threadId, id: requestId, call_id: requestId, tool_name },
    ...{ ...asked, ...nothing, answered_by: null, answer_digest: null },
  }
}

/** It has no row yet. */
function isUnasked({ status, answered_at: answeredAt }: PendingRecord): boolean {
  return status === 'early' && answeredAt === null
}

const FORM: Readonly<Record<CheckedAnswer['kind'], string>> = {
  approval: 'approved',
  variables: 'env',
  call: 'result',
}

/** What whoever came later can do. */
export const OTHER_ANSWER =
  'one that has another answer, which stays: variables can still be set (setEnv), anything else is told by a message'

/** @throws RequestNotFoundError for a request that is closed, or has another answer */
export async function decide(tx: Writer, decision: Decision): Promise<'answered' | 'again'> {
  const { threadId, id } = decision
  const outcome = await answerRequest(tx, decision)
  if (outcome === 'answered' || outcome === 'again') return outcome
  const request = await findRequest(tx, threadId, id)
  const answered = request !== null && request.status !== 'closed' && !(await isDropped(tx, request))
  const reason = answered ? OTHER_ANSWER : 'one that was ended'
  throw new RequestNotFoundError(threadId, { id, reason, answered })
}

async function decisionOf(
  tx: Writer,
  answer: Answering['answer'],
  { request, files }: { readonly request: PendingRecord; readonly files: readonly StoredAttachment[] },
): Promise<Omit<Decision, 'now'>> {
  const { thread_id: threadId, id } = request
  if (answer.kind === 'approval') {
    const { kind: _kind, ...decision } = answer
    return { threadId, id, ...decision }
  }
  const { result } = answer
  // Given again, a result brings its files only once.
  const placed =
    request.status === 'open' || isUnasked(request) ? await placeAttachments(tx, threadId, files) : []
  return { threadId, id, digest: resultDigest(result), answer: resultOf(result, placed) }
}

/** A `ToolResult` that names files of the thread only. */
export function resultOf({ fields, parts, attached }: CheckedResult, files: readonly object[]): JsonObject {
  const content = parts?.map((part) =>
    'text' in part
      ? { type: 'text', text: part.text }
      : { type: 'file', file: (files[part.file] ?? null) as JsonValue },
  )
  return {
    ...fields,
    ...(content !== undefined && { content }),
    ...(attached !== null && { attachments: files.slice(files.length - attached) as JsonValue[] }),
  }
}

/** Of what was given: the same result again has it again. */
export function resultDigest({ fields, parts, files, attached }: CheckedResult): string {
  return digestOf([fields, parts as JsonValue, files.map(attachmentDigest), attached])
}
