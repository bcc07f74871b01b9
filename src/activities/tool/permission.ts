/**
 * The permission of a call.
 * Owns: the decision in its row, the requests for approval, and how an answer to one of them decides.
 * Does not own: what the sources say (`permit.ts`), how they and the mode combine (`policy/judge.ts`), and the commit of a
 * denial (`commit-result.ts`).
 * Invariants:
 * - The decision is made in the transaction that would begin the call, from the permissions that its thread has then, and each
 *   call that begins has its record.
 * - A permission is requested before the operation is `started`, so a call that waited, for minutes or weeks, never has an
 *   unknown outcome (T4). The row of the request holds the answer and the digest of the arguments that were shown; other
 *   arguments need a new request. Text of the conversation decides nothing.
 */
import { ALLOWED_BY_DEFAULT, judgeForThread, looksAtFailures } from '../../policy/judge.js'
import type { PermissionDecision } from '../../policy/judge.js'
import type { ExecuteToolInput, PendingAnswer } from '../../protocol/activities.js'
import type { ActionDecision } from '../../protocol/event-codes.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import type { JsonValue } from '../../protocol/values.js'
import { answerRequest, findRequest, insertRequest, requestsOfCall } from '../../store/calls/requests.js'
import type { PendingRecord } from '../../store/calls/requests.js'
import { hasFailedCall, recordDecision } from '../../store/calls/tool-calls.js'
import type { ToolCallRecord } from '../../store/calls/tool-calls.js'
import { digestOf } from '../../store/digest.js'
import { recordError } from '../../store/errors.js'
import { appendEvents } from '../../store/events.js'
import { findOperation } from '../../store/operations.js'
import type { OperationRecord } from '../../store/operations.js'
import type { Writer } from '../../store/store.js'
import { digestFacts, postpone, unstoredFacts } from '../operation.js'
import type { Unfinished } from '../operation.js'
import { callScope, microseconds } from '../scope.js'
import type { HeldInput } from '../scope.js'
import type { OpenThread } from '../thread-row.js'
import { ERROR_PREFIX, outcomeResult } from './call-result.js'
import type { CallResult } from './call-result.js'
import type { Permit } from './permit.js'

/** Whether a call may begin. */
type Permission =
  | {
      readonly kind: 'granted'
      /** Null: an earlier attempt has begun the call, and its row has the decision. */
      readonly decision: PermissionDecision | null
      readonly events: readonly Fact[]
    }
  | { readonly kind: 'answered'; readonly answer: PendingAnswer }
  | Denied

/** A call that must not begin: `commitDenial` commits its result. */
export interface Denied {
  readonly kind: 'denied'
  readonly operation: OperationRecord
  readonly decision: PermissionDecision
  readonly result: CallResult
}

/** The call in the transaction that would begin it. */
interface EnteredCall {
  readonly input: HeldInput
  readonly response: CallResponse | null
  readonly thread: OpenThread
  readonly found: Unfinished
  readonly row: ToolCallRecord
  /** Events that precede all others of the call. */
  readonly opening: readonly Fact[]
}

/** Decides whether a call may begin. Without a permit nothing is judged: the call has no effect, or has been decided about. */
export async function decidePermission(
  tx: Writer,
  entered: EnteredCall,
  permit: Permit | null,
): Promise<Permission> {
  const { found, input, row } = entered
  const { operation } = found
  if (operation !== null && operation.state !== 'waiting')
    return { kind: 'granted', decision: null, events: [] }
  const stored = operation === null ? null : await readAnswer(tx, { ...entered, operation })
  if (stored !== null && stored.kind !== 'outdated') return stored
  if (permit === null) return { kind: 'granted', decision: ALLOWED_BY_DEFAULT, events: [] }
  const asked = stored?.requested ?? 0
  // A call that waits was asked about. Without its request it is asked about again.
  const decision = stored?.decision ?? (operation === null ? await judgeCall(tx, entered, permit) : ASKED)
  switch (decision.decision) {
    case 'allowed':
      return { kind: 'granted', decision, events: await evaluationFacts(tx, input, { permit, decision }) }
    case 'asked':
      return askApproval(tx, entered, { permit, decision, number: asked + 1 })
    case 'denied': {
      await holdBack(tx, entered, { permit, decision, events: [] })
      const held = await findOperation(tx, row.thread_id, found.id)
      if (held === null) throw new Error(`Expected the operation ${found.id}, found none.`)
      const result = refusalResult(decision, row)
      return { kind: 'denied', operation: held, decision, result }
    }
  }
}

async function judgeCall(
  tx: Writer,
  { input, thread: { permissions }, row }: EnteredCall,
  permit: Permit,
): Promise<PermissionDecision> {
  // The row of a queued call has no run yet.
  const called = { thread_id: row.thread_id, run: input.run, name: row.name }
  const hasFailed = looksAtFailures(permit, permissions) && (await hasFailedCall(tx, called))
  return judgeForThread(permit, permissions, hasFailed)
}

const ASKED: PermissionDecision = { decision: 'asked', source: 'tool' }

type StoredAnswer =
  | Permission
  /** The arguments are no longer those that were shown. */
  | { readonly kind: 'outdated'; readonly requested: number; readonly decision: PermissionDecision }

/** What was decided about a call that waits; null: it was never asked about. */
async function readAnswer(
  tx: Writer,
  { input, response, row, operation }: EnteredCall & { readonly operation: OperationRecord },
): Promise<StoredAnswer | null> {
  const { threadId, callId } = input
  const decided = row.decision
  // A policy has denied it, and the attempt that was to commit this has died.
  if (decided?.decision === 'denied') {
    const result = refusalResult(decided, row)
    return { kind: 'denied', operation, decision: decided, result }
  }
  const requests = (await requestsOfCall(tx, threadId, callId)).filter(({ kind }) => kind === 'approval')
  const requested = requests.length
  const request = requests.find(({ id }) => id === approvalId(callId, requested))
  if (request === undefined) return null
  // Only a call with the workflow's response goes on: a retry of the activity that made the request has none.
  const approved = response?.requestId === request.id ? decisionOf(request, response.approved) : null
  if (approved === null) return { kind: 'answered', answer: approvalAnswer(request.id) }
  const { reason } = request
  const by = request.status === 'open' ? COMMAND_LINE : request.answered_by
  const decision: PermissionDecision = {
    ...decided,
    ...{ decision: approved ? 'allowed' : 'denied', source: 'person', requestId: request.id },
    ...(by === null ? {} : { by }),
    ...(reason === null ? {} : { reason }),
  }
  if (!approved) return { kind: 'denied', operation, decision, result: denialResult(reason) }
  // The event of the answered request says what a person decided.
  if (request.digest === argumentsDigest(row)) return { kind: 'granted', decision, events: [] }
  return { kind: 'outdated', requested, decision: decided ?? ASKED }
}

/** The result of a call that a person did not allow; it gives the model the reason. */
function denialResult(reason: string | null): CallResult {
  return outcomeResult(
    'denied',
    `${ERROR_PREFIX}A person did not allow this call, so it was not made.${because(reason)}`,
  )
}

function because(reason: string | null = null): string {
  return reason === null || reason.trim() === '' ? '' : ` The reason: ${reason}`
}

/** The result of a call that rules, the mode or a policy do not allow. A denied call of a thread that nobody watches has its request. */
function refusalResult(
  { source, reason, capabilities = [] }: PermissionDecision,
  row: ToolCallRecord,
): CallResult {
  const why = because(reason)
  if (source !== 'not_interactive')
    return outcomeResult('denied', `${ERROR_PREFIX}This call is not allowed here, so it was not made.${why}`)
  const request = JSON.stringify({
    kind: 'approval',
    toolName: row.name,
    capabilities,
    arguments: argumentsOf(row),
  })
  const content = `${ERROR_PREFIX}This call needs the approval of a person, and nobody can be asked here, so it was not made.${why} The request: ${request}`
  return { ...outcomeResult('denied', content), errorCode: 'approval_required' }
}

/** The decision in the row, else that of a bare update; null without either. */
function decisionOf({ status, approved }: PendingRecord, claimed: boolean | undefined): boolean | null {
  if (status === 'open') return claimed ?? null
  // Only an explicit approval allows the call.
  return status === 'answered' && approved === true
}

/** `approval_<call>` for the first request, `approval_<call>_2` for the second, and so on. */
function approvalId(callId: string, number: number): string {
  return number === 1 ? `approval_${callId}` : `approval_${callId}_${number}`
}

function approvalAnswer(requestId: string): PendingAnswer {
  return {
    type: 'pending',
    requestId,
    kind: 'approval',
    status: 'waiting_permission',
    next: 'execute',
  }
}

/** The arguments as the model wrote them. Broken JSON never reaches this point: nothing is judged then. */
function argumentsOf({ arguments: text }: ToolCallRecord): JsonValue {
  return text.trim() === '' ? {} : (JSON.parse(text) as JsonValue)
}

/** The digest of the arguments as the model wrote them, because a person sees them so. */
function argumentsDigest(row: ToolCallRecord): string {
  return digestOf(argumentsOf(row))
}

interface Question {
  readonly permit: Permit
  readonly decision: PermissionDecision
  /** Of the request, from 1. */
  readonly number: number
}

/** Requests approval in the transaction that would have begun the call. */
async function askApproval(
  tx: Writer,
  entered: EnteredCall,
  { permit, decision, number }: Question,
): Promise<Permission> {
  const { input, row } = entered
  const { threadId, callId } = input
  const id = approvalId(callId, number)
  const subject = { kind: 'approval', call_id: callId, tool_name: row.name } as const
  const digest = argumentsDigest(row)
  const isNew = await insertRequest(tx, {
    ...{ thread_id: threadId, id, ...subject, digest, requested_at: microseconds(input) },
  })
  if (isNew) {
    const required = fact(
      'action.required',
      { requestId: id, kind: 'approval', toolName: row.name },
      callScope(input),
    )
    await holdBack(tx, entered, { permit, decision: { ...decision, requestId: id }, events: [required] })
  }
  return { kind: 'answered', answer: approvalAnswer(id) }
}

interface HeldBack {
  readonly permit: Permit
  readonly decision: PermissionDecision
  readonly events: readonly Fact[]
}

/** Keeps a call from beginning: its operation waits, its row has the decision, and the facts of the input are stored. */
async function holdBack(
  tx: Writer,
  { input, response, found, opening }: EnteredCall,
  { permit, decision, events: last }: HeldBack,
): Promise<void> {
  const { threadId, callId, run, step } = input
  const now = microseconds(input)
  const facts = await unstoredFacts(tx, input)
  // The result of a denial follows in another transaction, which must not store them again.
  const detail = decision.decision === 'denied' ? digestFacts(facts) : null
  await postpone(tx, found, { kind: 'tool', place: { run, step }, now, detail })
  await recordDecision(tx, { threadId, callId, decision })
  const resolved = response === null ? [] : await resolveRequest(tx, input, response)
  const events = [
    ...facts,
    ...opening,
    ...resolved,
    ...(await evaluationFacts(tx, input, { permit, decision })),
    ...last,
  ]
  await appendEvents(tx, { threadId, events, now })
}

/** The events of a decision that something was said about: hooks, the checks that failed, and what was decided. */
async function evaluationFacts(
  tx: Writer,
  input: HeldInput,
  { permit, decision: made }: Pick<HeldBack, 'permit' | 'decision'>,
): Promise<readonly Fact[]> {
  const warned: Fact[] = [...((await permit.hookFacts?.(tx)) ?? [])]
  for (const problem of permit.problems) warned.push(await recordProblem(tx, input, problem))
  const { decision, source, rules, hook } = made
  if (source === 'default' || source === 'person') return warned
  const payload = {
    ...{ decision, source },
    ...(hook === undefined ? {} : { hook }),
    ...(rules === undefined ? {} : { rules }),
  }
  return [...warned, fact('permission.evaluated', payload, callScope(input))]
}

/** Records the failure of a check for operators (T5) and returns its warning. */
async function recordProblem(
  tx: Writer,
  input: HeldInput,
  { source, thrown: { message, stack } }: Permit['problems'][number],
): Promise<Fact> {
  const { threadId, callId } = input
  const at = microseconds(input)
  const scope = callScope(input)
  const isOfTool = source === 'tool'
  const id = `${threadId}:${callId}:${isOfTool ? 'approval' : 'policy'}`
  const type = isOfTool ? 'approval_check' : 'policy.failed'
  await recordError(tx, { id, threadId, at, type, message, stack })
  if (!isOfTool) {
    const denied = 'The policy function of the worker failed, so the call was denied.'
    return fact('runtime.warning', { code: 'policy_failed', message: denied }, scope)
  }
  const asked = 'The check whether a call needs approval failed, so a person decides.'
  return fact('runtime.warning', { code: 'approval_check_failed', message: asked }, scope)
}

/**
 * The response that a call waited for. The row of the request holds the decision; `approved` is only the claim of a bare
 * update.
 */
export type CallResponse = NonNullable<ExecuteToolInput['response']>

/** The recorded decider of a bare update from Temporal's command line, for which no client wrote the row. */
const COMMAND_LINE = 'cli'

/**
 * Stores a decision that only an update carried, and returns the event of the decision. It runs once, when the call goes
 * on.
 */
export async function resolveRequest(
  tx: Writer,
  input: HeldInput,
  { requestId, approved }: CallResponse,
): Promise<readonly Fact[]> {
  const { threadId } = input
  if (approved !== undefined)
    // A decision that the row already holds stays as it is.
    await answerRequest(tx, {
      ...{ threadId, id: requestId, approved, by: COMMAND_LINE },
      now: microseconds(input),
    })
  const request = await findRequest(tx, threadId, requestId)
  if (request === null || request.status === 'open') return []
  const { kind, answered_by: by } = request
  const payload = { requestId, kind, decision: resolutionOf(request), by }
  return [fact('action.resolved', payload, callScope(input))]
}

function resolutionOf({ approved }: PendingRecord): ActionDecision {
  if (approved === null) return 'answered'
  return approved ? 'approved' : 'denied'
}
