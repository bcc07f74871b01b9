import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  ApprovalForbiddenError,
  MessageRejectedError,
  NoWorkerError,
  RequestNotFoundError,
} from '../../protocol/errors.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import type { Caller } from '../../policy/approval.js'
import { budgetDetailOf } from '../../policy/budget-request.js'
import { approvalDetailOf, connectOfRequest, formProblem } from '../../policy/approval-detail.js'
import { UPDATES } from '../../protocol/messages.js'
import type { Respond } from '../../protocol/messages.js'
import type { JsonObject, JsonValue } from '../../protocol/values.js'
import {
  answerFate,
  answerRequest,
  deferredChildOf,
  findRequest,
  insertEarlyAnswer,
  isDropped,
  listBudgetRequestsOf,
  isEnded,
} from '../../store/calls/requests.js'
import type { Decision, PendingRecord } from '../../store/calls/requests.js'
import { findToolCall } from '../../store/calls/tool-calls.js'
import { digestOf } from '../../store/digest.js'
import { appendEvents } from '../../store/events.js'
import type { SecretBox } from '../../store/secret-box.js'
import type { Reader, Store, Writer } from '../../store/store.js'
import { isOpen } from '../../store/threads/open-threads.js'
import { findThread } from '../../store/threads/threads.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import { findVariables, openVariable } from '../../store/threads/variables.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { attachmentDigest, placeAttachments, storeBytes } from '../messages/attachments.js'
import type { StoredAttachment } from '../messages/attachments.js'
import { lostThreadError, updateWorkflow } from '../thread-workflow.js'
import { noAnswerError } from '../waiting/notices.js'
import { approvalDecision, checkAnswerer } from './approval.js'
import { checkAnswer, hasOneForm } from './check-answer.js'
import type { Answer, CheckedResult } from './check-answer.js'
import { putVariables } from './set-variables.js'
import { nowMicros } from '../../protocol/time.js'

/** How long an answer waits for a worker that takes it: after that the store keeps it, and the caller sends it again. */
export const RESPOND_PATIENCE = 10_000

/** The pause between two Updates: the row of a request is written before its activity reports the request to the workflow. */
export const RESPOND_PAUSE = 50

type CheckedAnswer = ReturnType<typeof checkAnswer>

type VariableValues = Readonly<Record<string, string>>

interface Responding {
  readonly threadId: string
  readonly requestId: string
  readonly answer: Answer
  readonly caller?: Caller | undefined
}

export interface Answered {
  /** The thread id of the subagent that starts with the answer. */
  readonly child: string | null
}

/**
 * The only path of an answer: into the row of its request, which takes one answer only, then an Update that names the request
 * (T5). Any process may give it; the same answer again is safe, whatever failed before.
 */
export async function respond(
  context: ClientContext,
  { threadId, requestId, answer, caller }: Responding,
): Promise<Answered> {
  const store = await context.store()
  const forms = hasOneForm(answer) ? undefined : await formsFor(store, { threadId, requestId })
  const checked = checkAnswer(threadId, answer, forms)
  const request =
    checked.kind === 'variables'
      ? await answerVariables(store, { threadId, requestId, values: checked.values })
      : await writeAnswer(store, { threadId, requestId, answer: checked, caller })
  // Others that asked about the same limit fit now, too; where no worker answers, their threads find the answers later.
  const others = await store.read((db) => listReleased(db, request))
  const announced = Promise.allSettled(others.map((other) => announceAnswer(context, other)))
  // The call finds an early answer when it asks, so no Update is needed.
  if (request.status !== 'early') await announceAnswer(context, request)
  await announced
  const child = request.detail?.['child']
  return { child: typeof child === 'string' ? child : null }
}

/**
 * Announces the answer in a request's row to the workflow, which may learn of the request a moment later than readers of the
 * store.
 */
export async function announceAnswer(context: ClientContext, request: PendingRecord): Promise<void> {
  const { thread_id: threadId, id } = request
  const input = toUpdate(request)
  const until = Date.now() + RESPOND_PATIENCE
  // The same answer from another process is the same Update.
  let repeats = true
  for (;;) {
    const patience = Math.max(1, until - Date.now())
    const updateId = `${UPDATES.respond}:${id}${repeats ? '' : `:${randomUUID()}`}`
    const update = { name: UPDATES.respond, id: updateId, input, patience, repeats }
    const answer = await updateWorkflow(context, threadId, update)
    if (answer === 'accepted') return
    if (answer === 'silent') throw await noAnswerError(context, threadId, 'answer')
    if (answer === 'gone') throw await goneError(context, request)
    // A refusal under that id may be older than a reset, and the test server keeps it for ever: only a new id is
    // evaluated again.
    if (repeats) {
      repeats = false
      continue
    }
    if (answer === 'invalid') throw invalidAnswerError(request)
    if (await wasTaken(context, request)) return
    if (Date.now() + RESPOND_PAUSE >= until)
      throw new NoWorkerError(threadId, { taskQueue: await context.taskQueue(), kept: 'answer' })
    await sleep(RESPOND_PAUSE)
  }
}

/** T5: the Update names the request, whether it was approved, and the names of variables; the rest stays in the row. */
function toUpdate({ id, kind, approved, answer }: PendingRecord): Respond {
  if (kind === 'call') return { id, result: true }
  if (kind === 'approval' || kind === 'budget') return { id, approved: approved === true }
  const names = (answer as { readonly names?: readonly string[] } | null)?.names
  return { id, names: names ?? [] }
}

/**
 * Whether the thread went on with this answer: its row holds no other.
 * @throws RequestNotFoundError when the request was ended before the answer was taken
 */
async function wasTaken(context: ClientContext, request: PendingRecord): Promise<boolean> {
  const { thread_id: threadId, id } = request
  const store = await context.store()
  const fate = await store.read(async (db) => {
    const thread = await requireThread(db, threadId)
    return isOpen(thread) ? answerFate(db, request) : 'ended'
  })
  if (fate === 'ended') throw new RequestNotFoundError(threadId, { id, reason: 'one that was ended' })
  return fate === 'taken'
}

/** Finds in the row why Temporal has no workflow. */
async function goneError(context: ClientContext, { thread_id: threadId, id }: PendingRecord): Promise<Error> {
  const store = await context.store()
  const thread = await store.read((db) => requireThread(db, threadId))
  if (isOpen(thread)) return lostThreadError(threadId)
  return new RequestNotFoundError(threadId, { id, reason: 'a thread that has ended' })
}

function invalidAnswerError({ thread_id: threadId, id }: PendingRecord): MessageRejectedError {
  return new MessageRejectedError(
    threadId,
    `Expected an answer that fits request "${id}", got one that its thread does not accept: look at its snapshot.`,
  )
}

/** The requests that were answered with this one, and whose calls have not gone on. */
async function listReleased(db: Reader, request: PendingRecord): Promise<readonly PendingRecord[]> {
  const detail = budgetDetailOf(request)
  if (detail === null || request.approved !== true) return []
  const others = await listBudgetRequestsOf(db, detail)
  return others.filter(
    (other) =>
      !(other.thread_id === request.thread_id && other.id === request.id) &&
      other.status === 'answered' &&
      other.approved === true &&
      budgetDetailOf(other)?.taken !== true,
  )
}

interface Answering {
  readonly threadId: string
  readonly requestId: string
  readonly answer: Exclude<CheckedAnswer, { readonly kind: 'variables' }>
  readonly caller: Caller | undefined
}

/**
 * Writes an answer into the row of its request, before it is announced (T2): the files of a result first, then the decision,
 * which is refused if there is another one. Returns the new row. A result that comes before its call has asked is kept as
 * `early`, for the call to find.
 * @throws RequestNotFoundError, ApprovalForbiddenError, MessageRejectedError for an answer of another kind
 */
async function writeAnswer(store: Store, answering: Answering): Promise<PendingRecord> {
  const { threadId, requestId, answer: given, caller } = answering
  // Checked before its files are written: a request that is not open stores no bytes either.
  const found = await store.read((db) => answerableRequest(db, { threadId, requestId, kind: given.kind }))
  const by = checkAnswerer(found, { caller, by: given.by })
  if (connectOfRequest(found) !== null)
    checkLoginOwner(found, { caller, thread: await store.read((db) => requireThread(db, threadId)) })
  const answer = by === undefined ? given : { ...given, by }
  const files = answer.kind === 'call' ? await storeBytes(store, answer.result.files) : []
  return store.write(async (tx) => {
    const request = await answerableRequest(tx, { threadId, requestId, kind: answer.kind })
    const decision = { ...(await toDecision(tx, answer, { request, files })), now: nowMicros() }
    if (!isUnasked(request) || !(await insertEarlyAnswer(tx, request, decision))) await decide(tx, decision)
    return { ...request, approved: decision.approved ?? null, answer: decision.answer ?? null }
  })
}

interface LoginAnswerer {
  readonly caller: Caller | undefined
  readonly thread: Pick<ThreadRecord, 'account' | 'user_id'>
}

/**
 * A login becomes that of the thread's user, so nobody else gives it: another one's would let the thread work in their name. A thread
 * without a user has the login of all who reach it.
 * @throws ApprovalForbiddenError
 */
function checkLoginOwner(
  { thread_id: threadId, id }: PendingRecord,
  { caller, thread: { account, user_id: user } }: LoginAnswerer,
): void {
  if (user === null || (caller?.user === user && caller.account === account)) return
  const got = caller === undefined ? 'an answer without `{ caller }`' : 'somebody else'
  throw new ApprovalForbiddenError(threadId, id, {
    expected: 'the user of the thread, whose login it is',
    got,
  })
}

/** Reads the row of a request that accepts this kind of answer. @throws RequestNotFoundError, MessageRejectedError */
async function answerableRequest(
  db: Reader,
  {
    threadId,
    requestId,
    kind,
  }: { readonly threadId: string; readonly requestId: string; readonly kind: CheckedAnswer['kind'] },
): Promise<PendingRecord> {
  const thread = await requireThread(db, threadId)
  if (!isOpen(thread))
    throw new RequestNotFoundError(threadId, { id: requestId, reason: 'a thread that has ended' })
  const request =
    (await findRequest(db, threadId, requestId)) ??
    (await findUnaskedRequest(db, { threadId, requestId, kind }))
  // The timer of the thread has not come that far, or no worker serves it.
  if (request.status === 'open' && request.expires_at !== null && request.expires_at <= nowMicros())
    throw new RequestNotFoundError(threadId, { id: requestId, reason: 'one that nobody answered in time' })
  if (request.kind === kind || (kind === 'call' && approvalDetailOf(request)?.kind === 'tool')) return request
  if (kind === 'approval' && request.kind === 'budget') return request
  throw new MessageRejectedError(
    threadId,
    `Expected an answer ${formsOf(request)} to request "${requestId}", got { ${FORM[kind]} }.`,
  )
}

interface Unasked {
  readonly threadId: string
  readonly requestId: string
  readonly kind: CheckedAnswer['kind']
}

/**
 * Makes the row of a request that a running call may write in a moment: a tool may give its call id away before it waits. An
 * early result is kept; an early approval is refused, because its call was not shown to anybody.
 * @throws RequestNotFoundError for any other id, and for a call that has ended
 */
async function findUnaskedRequest(
  db: Reader,
  { threadId, requestId, kind }: Unasked,
): Promise<PendingRecord> {
  const callId = kind === 'approval' ? requestId.replace(/^approval_/, '') : requestId
  const call = kind === 'variables' ? null : await findToolCall(db, threadId, callId)
  if (call?.status !== 'open')
    throw new RequestNotFoundError(threadId, { id: requestId, reason: 'no request of this id' })
  if (kind === 'approval')
    throw new RequestNotFoundError(threadId, {
      id: requestId,
      reason: 'an approval that its call has not asked for yet',
    })
  const nothing = {
    digest: null,
    detail: null,
    approved: null,
    reason: null,
    answer: null,
    expires_at: null,
  } as const
  const asked = { kind: 'call', status: 'early', requested_at: 0, answered_at: null } as const
  const { name: tool_name } = call
  return {
    ...{ thread_id: threadId, id: requestId, call_id: requestId, tool_name },
    ...{ ...asked, ...nothing, answered_by: null, answer_digest: null },
  }
}

/** Whether the request has no row yet. */
function isUnasked({ status, answered_at: answeredAt }: PendingRecord): boolean {
  return status === 'early' && answeredAt === null
}

/** The forms of the answers that this request takes; undefined: there is none. */
async function formsFor(
  store: Store,
  { threadId, requestId }: Pick<Answering, 'threadId' | 'requestId'>,
): Promise<string | undefined> {
  const request = await store.read((db) => findRequest(db, threadId, requestId))
  return request === null ? undefined : `${formsOf(request)} to request "${requestId}"`
}

/** The forms of the answers that a request takes. */
function formsOf(request: PendingRecord): string {
  const forms = `{ ${FORM[request.kind]} }`
  return approvalDetailOf(request)?.kind === 'tool' ? `${forms} or { ${FORM.call} }` : forms
}

const FORM: Readonly<Record<PendingRecord['kind'], string>> = {
  approval: 'approved',
  budget: 'approved',
  variables: 'env',
  call: 'result',
}

/** It names what a caller whose answer came later can do. */
const OTHER_ANSWER =
  'one that has another answer, which stays: variables can still be set (setEnv), anything else can be sent as a message'

/** @throws RequestNotFoundError for a request that is closed, or has another answer */
async function decide(tx: Writer, decision: Decision): Promise<'answered' | 'again'> {
  const { threadId, id } = decision
  const outcome = await answerRequest(tx, decision)
  if (outcome === 'answered' || outcome === 'again') return outcome
  const request = await findRequest(tx, threadId, id)
  const answered = request !== null && !isEnded(request) && !(await isDropped(tx, request))
  const ended = request?.status === 'expired' ? 'one that nobody answered in time' : 'one that was ended'
  const reason = answered ? OTHER_ANSWER : ended
  throw new RequestNotFoundError(threadId, { id, reason, answered })
}

async function toDecision(
  tx: Writer,
  answer: Answering['answer'],
  { request, files }: { readonly request: PendingRecord; readonly files: readonly StoredAttachment[] },
): Promise<Omit<Decision, 'now'>> {
  const { thread_id: threadId, id } = request
  if (answer.kind === 'approval') return approvalDecision(tx, request, answer)
  const { result, by } = answer
  // A result that is given again adds its files only once.
  const placed =
    request.status === 'open' || isUnasked(request) ? await placeAttachments(tx, threadId, files) : []
  const built = buildResult(result, placed)
  const misfit = request.status === 'open' ? formProblem(request, built) : undefined
  if (misfit !== undefined)
    throw new MessageRejectedError(
      threadId,
      `Expected a "result" that fits the form of request "${id}", got another: ${misfit}. The request stays open.`,
    )
  const named = { threadId, id, digest: digestResult(result), ...(by !== undefined && { by }) }
  if (request.kind !== 'approval') return { ...named, answer: built }
  // In the place of a call, which is not made.
  return { ...named, approved: false, answer: { result: built } }
}

/** Builds a `ToolResult` that names files of the thread only. */
export function buildResult(
  { fields, parts, attached }: CheckedResult,
  files: readonly object[],
): JsonObject {
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

/** The digest of a result as it was given, by which the same result is recognized. */
export function digestResult({ fields, parts, files, attached }: CheckedResult): string {
  return digestOf([fields, parts as JsonValue, files.map(attachmentDigest), attached])
}

interface AnsweringVariables {
  readonly threadId: string
  readonly requestId: string
  readonly values: VariableValues
}

/**
 * Stores the values that a blocked run or a deferred subagent lacks, with the answer of the request. The row holds names only,
 * because even a digest would reveal a short secret. Returns the new row.
 * @throws RequestNotFoundError, MessageRejectedError for an answer of another kind, or one that leaves a subagent lacking
 */
export async function answerVariables(
  store: Store,
  { threadId, requestId, values }: AnsweringVariables,
): Promise<PendingRecord> {
  return store.write(async (tx) => {
    const request = await answerableRequest(tx, { threadId, requestId, kind: 'variables' })
    const child = deferredChildOf(request)
    const owner = child ?? threadId
    if (request.status === 'open') {
      checkNames(request, values)
      if (child !== null) await checkChild(tx, request, { reference: child, values })
      const forGraph = child === null ? {} : ({ forGraph: true } as const)
      await putVariables(tx, store.secrets, { threadId: owner, values, ...forGraph })
    }
    if (
      request.status === 'answered' &&
      !(await hasVariables(tx, store.secrets, { threadId: owner, values }))
    )
      throw new RequestNotFoundError(threadId, {
        id: requestId,
        reason: OTHER_ANSWER,
        answered: true,
      })
    const answer = { names: Object.keys(values).toSorted() }
    const now = nowMicros()
    // Decided here, because the run that checks its variables again closes the requests that are still open.
    if ((await decide(tx, { threadId, id: requestId, answer, now })) === 'answered')
      await appendEvents(tx, { threadId, events: [suppliedFact(requestId, child)], now })
    return { ...request, answer }
  })
}

/**
 * Refuses names that were not requested, and empty values: `setEnv` takes them, but the answer of a request cannot be
 * corrected.
 */
function checkNames({ thread_id: threadId, id, detail }: PendingRecord, values: VariableValues): void {
  const names = Object.keys(values)
  const asked = new Set([...namesOf(detail?.['required']), ...namesOf(detail?.['missing'])])
  const empty = names.filter((name) => values[name] === '')
  const others = names.filter((name) => !asked.has(name))
  if (others.length > 0)
    throw new MessageRejectedError(
      threadId,
      `Expected only what request "${id}" asks for (${[...asked].join(', ')}), got also ${others.join(', ')}: setEnv takes any variable.`,
    )
  if (empty.length > 0)
    throw new MessageRejectedError(
      threadId,
      `Expected values for request "${id}", got an empty text for ${empty.join(', ')}: the request stays open.`,
    )
}

function namesOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}

interface Booting {
  readonly reference: string
  readonly values: VariableValues
}

/** Checks values for a subagent: it starts with them, so none may be missing. */
async function checkChild(tx: Writer, request: PendingRecord, { reference, values }: Booting): Promise<void> {
  const { thread_id: threadId, id, detail } = request
  const thread = await findThread(tx, reference)
  if (thread === null || !isOpen(thread))
    throw new RequestNotFoundError(threadId, { id, reason: 'one of a subagent that has ended' })
  const missing = namesOf(detail?.['missing'])
  const lacking = missing.filter((name) => !Object.hasOwn(values, name))
  if (lacking.length > 0)
    throw new MessageRejectedError(
      threadId,
      `Expected values of all variables that request "${id}" names, got none of: ${lacking.join(', ')}.`,
    )
}

function suppliedFact(requestId: string, child: string | null): Fact {
  const payload = { requestId, kind: 'variables', decision: 'supplied', by: null } as const
  return fact('action.resolved', payload, child === null ? undefined : { childId: child })
}

/** Whether the thread has exactly these values now. */
async function hasVariables(
  db: Reader,
  secrets: SecretBox,
  { threadId, values }: { readonly threadId: string; readonly values: VariableValues },
): Promise<boolean> {
  const names = Object.keys(values)
  const found = await findVariables(db, threadId, names)
  return (
    found.length === names.length &&
    found.every((variable) => openVariable(secrets, variable) === values[variable.name])
  )
}
