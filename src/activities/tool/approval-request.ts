/**
 * The request for the approval of a call.
 * Owns: its row and what a person is shown, its end by time, and what an answer says: yes, no, other arguments, a result in the
 * tool's place.
 * Does not own: whether a person is asked, and whether the call may begin then (`permission.ts`); who may answer (`policy/approval.ts`),
 * which `respond` checks.
 * Invariants:
 * - The row holds the digest of the arguments that were shown; other arguments need a new request, or are those that the person gave.
 * - A bare update from Temporal's command line names no person, so it cannot answer where the rule asks for one.
 */
import { listOfferedTools } from '../../definitions/plan/offered-tools.js'
import { activePrompt } from '../../definitions/plan/plan-content.js'
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import { demandsMore, isRestricted } from '../../policy/approval.js'
import type { CombinedApproval } from '../../policy/approval.js'
import { approvalDetailOf } from '../../policy/approval-detail.js'
import type { ApprovalAnswer, Question } from '../../policy/approval-detail.js'
import { redactFields } from '../../policy/redact-fields.js'
import type { CallInput, ExecuteToolInput, PendingAnswer } from '../../protocol/activities.js'
import type { ActionDecision, PermissionResolution } from '../../protocol/event-codes.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { toMicros, toMillisAfter } from '../../protocol/time.js'
import type { Micros } from '../../protocol/time.js'
import { isObject } from '../../protocol/values.js'
import type { JsonObject, JsonValue } from '../../protocol/values.js'
import {
  answerRequest,
  expireRequest,
  findRequest,
  insertRequest,
  requestsOfCall,
} from '../../store/calls/requests.js'
import type { PendingRecord } from '../../store/calls/requests.js'
import { argumentsOf } from '../../store/calls/tool-calls.js'
import type { ToolCallRecord } from '../../store/calls/tool-calls.js'
import { digestOf } from '../../store/digest.js'
import type { Reader, Store, Writer } from '../../store/store.js'
import { callScope, microseconds } from '../scope.js'
import type { HeldInput } from '../scope.js'

/**
 * The response that a call waited for. The row of the request holds the decision; `approved` is only the claim of a bare
 * update.
 */
export type CallResponse = NonNullable<ExecuteToolInput['response']>

function answerIn({ answer }: Pick<PendingRecord, 'answer'>): ApprovalAnswer {
  // Written by `respond`: the store's boundary.
  return isObject(answer) ? (answer as ApprovalAnswer) : {}
}

/** The arguments of a call as text: those that a person gave in the answer that the call waited for, else those of its row. */
export async function argumentsToRun(
  store: Store,
  {
    threadId,
    response,
  }: Pick<HeldInput, 'threadId'> & { readonly response?: CallResponse | null | undefined },
  row: Pick<ToolCallRecord, 'arguments'>,
): Promise<Pick<ToolCallRecord, 'arguments'> & { readonly isChanged: boolean }> {
  const request =
    response == null ? null : await store.read((db) => findRequest(db, threadId, response.requestId))
  const given = request?.approved === true ? answerIn(request).arguments : undefined
  return {
    arguments: given === undefined ? row.arguments : JSON.stringify(given),
    isChanged: given !== undefined,
  }
}

/** What was decided about the call by the answer to its newest request. */
type StoredAnswer =
  | { readonly kind: 'waits'; readonly answer: PendingAnswer }
  | {
      readonly kind: 'approved'
      readonly requestId: string
      readonly by: string | null
      readonly reason: string | null
      readonly arguments?: JsonObject
      /** The rule that was answered. */
      readonly approval: CombinedApproval
      /** The model's arguments are no longer those that were shown. */
      readonly isOutdated: boolean
      /** Requests that the call has made. */
      readonly requested: number
    }
  | {
      readonly kind: 'denied'
      readonly requestId: string
      readonly by: string | null
      readonly reason: string | null
      /** Nobody has answered in time. */
      readonly isExpired: boolean
      readonly result?: JsonObject
    }

interface Answering {
  readonly input: HeldInput
  readonly response: CallResponse | null
  readonly row: ToolCallRecord
}

/** Reads the answer to the newest request of a call; null: it was never asked about. */
export async function readStoredAnswer(
  tx: Writer,
  { input: { threadId, callId }, response, row }: Answering,
): Promise<StoredAnswer | null> {
  const { request, requested } = await newestRequest(tx, threadId, callId)
  if (request === null) return null
  // Only a call with the workflow's response goes on: a retry of the activity that made the request has none.
  const goesOn = response?.requestId === request.id
  const { reason, id: requestId, status } = request
  if (goesOn && (status === 'expired' || (status === 'open' && response.expired === true))) {
    // In the transaction that decides: an answer that comes before the result is committed finds no request.
    await expireRequest(tx, { threadId, id: requestId })
    return { kind: 'denied', requestId, by: null, reason: null, isExpired: true }
  }
  const approved = goesOn ? decisionOf(request, response.approved) : null
  if (approved === null) return { kind: 'waits', answer: approvalAnswer(request) }
  const by = request.status === 'open' ? COMMAND_LINE : request.answered_by
  const given = answerIn(request)
  if (!approved) {
    const { result } = given
    return {
      kind: 'denied',
      requestId,
      by,
      reason,
      isExpired: false,
      ...(result !== undefined && { result }),
    }
  }
  const isOutdated = given.arguments === undefined && isOfOthers(request, row)
  const changed = given.arguments === undefined ? {} : { arguments: given.arguments }
  return {
    kind: 'approved',
    requestId,
    by,
    reason,
    approval: ruleOf(request),
    isOutdated,
    requested,
    ...changed,
  }
}

interface AskedBefore {
  readonly input: Pick<HeldInput, 'threadId' | 'callId'> & {
    readonly response?: CallResponse | null | undefined
  }
  readonly row: Pick<ToolCallRecord, 'arguments'>
  /** The rule of now. */
  readonly approval: CombinedApproval
}

/** Whether a call that waits will be asked about again, because the answer to its newest request does not count, or there is none. */
export async function isAskedAgain(
  db: Reader,
  { input: { threadId, callId, response }, row, approval }: AskedBefore,
): Promise<boolean> {
  const { request } = await newestRequest(db, threadId, callId)
  if (request === null) return true
  if (response == null || response.requestId !== request.id) return false
  // A person's own arguments are not asked about again: the call is denied, or runs.
  if (decisionOf(request, response.approved) !== true || answerIn(request).arguments !== undefined)
    return false
  return isOfOthers(request, row) || demandsMore(approval, ruleOf(request))
}

interface NewestRequest {
  readonly request: PendingRecord | null
  /** Requests that the call has made. */
  readonly requested: number
}

/** The newest request for the approval of a call. */
async function newestRequest(db: Reader, threadId: string, callId: string): Promise<NewestRequest> {
  const requests = (await requestsOfCall(db, threadId, callId)).filter(({ kind }) => kind === 'approval')
  const requested = requests.length
  return { request: requests.find(({ id }) => id === approvalId(callId, requested)) ?? null, requested }
}

/** Whether the arguments of the call are no longer those that were shown. */
function isOfOthers({ digest }: PendingRecord, row: Pick<ToolCallRecord, 'arguments'>): boolean {
  return digest !== digestOf(argumentsOf(row))
}

/** The decision in the row, else that of a bare update; null without either. */
function decisionOf(request: PendingRecord, claimed: boolean | undefined): boolean | null {
  const { status, approved } = request
  if (status === 'open') return isRestricted(ruleOf(request)) ? null : (claimed ?? null)
  // Only an explicit approval allows the call.
  return status === 'answered' && approved === true
}

function ruleOf(request: PendingRecord): CombinedApproval {
  return approvalDetailOf(request)?.approval ?? {}
}

/** `approval_<call>` for the first request, `approval_<call>_2` for the second, and so on. */
function approvalId(callId: string, number: number): string {
  return number === 1 ? `approval_${callId}` : `approval_${callId}_${number}`
}

function approvalAnswer({ id, expires_at: until }: Pick<PendingRecord, 'id' | 'expires_at'>): PendingAnswer {
  return {
    type: 'pending',
    requestId: id,
    kind: 'approval',
    status: 'waiting_permission',
    next: 'execute',
    ...(until === null ? {} : { expiresAt: toMillisAfter(until) }),
  }
}

interface Asked {
  readonly input: HeldInput
  readonly row: ToolCallRecord
  readonly question: Question
  readonly requester: string | null
  /** Of the request, from 1. */
  readonly number: number
}

interface Requested {
  readonly answer: PendingAnswer
  /** None: an earlier attempt has made the request. */
  readonly events: readonly Fact[]
  readonly expiresAt: Micros | null
}

/** Makes the request, in the transaction that would have begun the call. */
export async function requestApproval(
  tx: Writer,
  { input, row, question, requester, number }: Asked,
): Promise<Requested> {
  const { threadId, callId } = input
  const id = approvalId(callId, number)
  const now = microseconds(input)
  const { expiresIn } = question.approval
  const expires_at = expiresIn === undefined ? null : now + toMicros(expiresIn)
  const isNew = await insertRequest(tx, {
    ...{ thread_id: threadId, id, kind: 'approval', call_id: callId, tool_name: row.name },
    ...{
      digest: digestOf(argumentsOf(row)),
      detail: toDetail(question, requester),
      requested_at: now,
      expires_at,
    },
  })
  const answer = approvalAnswer({ id, expires_at })
  if (!isNew) return { answer, events: [], expiresAt: expires_at }
  const until = expires_at === null ? {} : { expiresAt: expires_at }
  const scope = callScope(input)
  const events = [
    fact('permission.requested', { requestId: id, ...until }, scope),
    fact('action.required', { requestId: id, kind: 'approval', toolName: row.name }, scope),
  ]
  return { answer, events, expiresAt: expires_at }
}

/** What a person is told of a call that the active prompt lists: as the model was told. Without a schema nobody can change the arguments. */
export function describeListed(
  content: PlanContent,
  input: Pick<CallInput, 'side' | 'promptPath'>,
): (name: string) => Pick<Question, 'description' | 'schema'> {
  return (name) => {
    const prompt = activePrompt(content, input)
    const offered = listOfferedTools(prompt, Object.values(prompt.subagents))
    const tool = offered.find((one) => one.name === name)
    return tool === undefined ? {} : { description: tool.description, schema: tool.inputSchema }
  }
}

function toDetail({ arguments: args, preview, ...question }: Question, requester: string | null): JsonObject {
  const hidden = preview?.map((part) => (part.type === 'json' ? { ...part, value: shown(part.value) } : part))
  const detail = {
    ...question,
    arguments: shown(args),
    ...(hidden !== undefined && { preview: hidden }),
    requester,
  }
  return detail as unknown as JsonObject
}

/** As JSON, because parsed arguments may contain dates and the like. The nesting of a model's arguments is unbounded (T10). */
function shown(args: unknown): JsonValue {
  try {
    return redactFields(JSON.parse(JSON.stringify(args)) as JsonValue)
  } catch (error) {
    if (error instanceof RangeError) return 'They are nested too deep to be shown.'
    throw error
  }
}

/** The recorded decider of a bare update from Temporal's command line, for which no client wrote the row. */
const COMMAND_LINE = 'cli'

/**
 * Stores a decision that only an update carried, and returns the events of the decision. It runs once, when the call goes on.
 */
export async function resolveRequest(
  tx: Writer,
  input: HeldInput,
  { requestId, approved: claimed }: CallResponse,
): Promise<readonly Fact[]> {
  const { threadId } = input
  if (claimed !== undefined)
    // A decision that the row already holds stays as it is.
    await answerRequest(tx, {
      ...{ threadId, id: requestId, approved: claimed, by: COMMAND_LINE },
      now: microseconds(input),
    })
  const request = await findRequest(tx, threadId, requestId)
  // The charge of the call tells of an answer about a budget.
  if (request === null || request.status === 'open' || request.kind === 'budget') return []
  const { kind, status, approved, answered_by: by } = request
  const decision = resolutionOf(request)
  const scope = callScope(input)
  const resolved = fact('action.resolved', { requestId, kind, decision, by }, scope)
  if (kind !== 'approval') return [resolved]
  const resolution: PermissionResolution =
    status === 'expired' ? 'timed_out' : approved === true ? 'allowed' : 'denied'
  const changed = answerIn(request).arguments === undefined ? {} : { changed: true as const }
  return [resolved, fact('permission.resolved', { requestId, resolution, by, ...changed }, scope)]
}

function resolutionOf({ approved, status, answer }: PendingRecord): ActionDecision {
  if (status === 'expired') return 'expired'
  if (approved === null || (!approved && answer !== null)) return 'answered'
  return approved ? 'approved' : 'denied'
}
