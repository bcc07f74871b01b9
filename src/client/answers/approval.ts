/**
 * The answer of a person to a request for an approval, or for more budget, before it is stored.
 * Owns: the check of who answers, of changed arguments, of what is to be remembered, and of the new limit of a budget.
 * Does not own: the form of an answer (`check-answer.ts`), and its way to the workflow (`respond.ts`).
 * Invariant: an answer that is refused leaves the request open, and nothing of it is stored.
 */
import { answererProblem, demandsMore } from '../../policy/approval.js'
import type { Caller } from '../../policy/approval.js'
import { approvalDetailOf, takesArguments } from '../../policy/approval-detail.js'
import type { ApprovalAnswer, ApprovalDetail } from '../../policy/approval-detail.js'
import { budgetDetailOf, raisedBy, raiseProblem } from '../../policy/budget-request.js'
import { schemaProblem } from '../../policy/schema-problem.js'
import { hiddenField, restoreFields } from '../../policy/redact-fields.js'
import { ApprovalForbiddenError, MessageRejectedError } from '../../protocol/errors.js'
import { nowMicros, toMicros } from '../../protocol/time.js'
import type { JsonObject, JsonValue } from '../../protocol/values.js'
import { raiseLimit } from '../../store/budgets/spending.js'
import { insertGrant } from '../../store/calls/grants.js'
import { answerRequest, listBudgetRequestsOf } from '../../store/calls/requests.js'
import type { Decision, PendingRecord } from '../../store/calls/requests.js'
import { argumentsOf, findToolCall } from '../../store/calls/tool-calls.js'
import { digestOf } from '../../store/digest.js'
import type { Reader, Writer } from '../../store/store.js'
import { requireThread } from '../client-context.js'
import type { checkAnswer, Remember } from './check-answer.js'

type CheckedApproval = Extract<ReturnType<typeof checkAnswer>, { readonly kind: 'approval' }>

interface Answerer {
  readonly caller: Caller | undefined
  /** As the answer names who decided. */
  readonly by: string | undefined
}

/**
 * Returns who answers, as the row names them.
 * @throws ApprovalForbiddenError where the rule wants somebody else; MessageRejectedError for another name than the caller's
 */
export function checkAnswerer(request: PendingRecord, { caller, by }: Answerer): string | undefined {
  const { thread_id: threadId, id } = request
  const user = caller?.user
  if (by !== undefined && user !== undefined && by !== user)
    throw new MessageRejectedError(
      threadId,
      `Expected no "by", or the user of the caller, got another one: "${by}".`,
    )
  const detail = approvalDetailOf(request) ?? budgetDetailOf(request)
  const problem = detail === null ? undefined : answererProblem(detail.approval, caller, detail.requester)
  if (problem !== undefined) {
    const got = caller === undefined ? 'an answer without `{ caller }`' : 'somebody else'
    throw new ApprovalForbiddenError(threadId, id, { expected: problem, got })
  }
  return user ?? by
}

/**
 * Makes the decision of an approval, and stores what is to be remembered if the decision is a new one.
 * @throws MessageRejectedError for arguments that do not fit, and for what cannot be remembered
 */
export async function approvalDecision(
  tx: Writer,
  request: PendingRecord,
  answer: CheckedApproval,
): Promise<Omit<Decision, 'now'>> {
  if (request.kind === 'budget') return budgetDecision(tx, request, answer)
  const { kind: _kind, arguments: changed, remember, raise, ...decision } = answer
  const { thread_id: threadId, id } = request
  if (raise !== undefined)
    throw new MessageRejectedError(
      threadId,
      `Expected no "raise" for request "${id}", which is not about a budget.`,
    )
  const given = {
    ...(changed !== undefined && { arguments: changed }),
    ...(remember !== undefined && { remember }),
  }
  // Of what was given: where fields are hidden, it differs from what is stored.
  const digest = digestOf([
    decision.approved,
    decision.reason ?? null,
    Object.keys(given).length === 0 ? null : (given as JsonObject),
  ])
  const made = { threadId, id, ...decision, digest }
  if (request.status !== 'open') return made
  const args = changed === undefined ? undefined : await checkChanged(tx, request, changed)
  if (remember !== undefined) await writeGrant(tx, request, { remember, args, by: decision.by })
  const kept: ApprovalAnswer = args === undefined ? {} : { arguments: args }
  return { ...made, ...(args !== undefined && { answer: kept as JsonObject }) }
}

/** Makes the decision, and raises the limit if it is a new one. @throws MessageRejectedError: the request stays open */
async function budgetDecision(
  tx: Writer,
  request: PendingRecord,
  { kind: _kind, arguments: args, remember, raise, ...decision }: CheckedApproval,
): Promise<Omit<Decision, 'now'>> {
  const { thread_id: threadId, id, status } = request
  const refuse = (problem: string): MessageRejectedError =>
    new MessageRejectedError(threadId, `${problem} The request stays open.`)
  if (args !== undefined || remember !== undefined)
    throw refuse(`Expected no "arguments" and no "remember" for request "${id}", which is about a budget.`)
  const digest = digestOf([decision.approved, decision.reason ?? null, raise ?? null])
  const made = { threadId, id, ...decision, digest }
  const detail = budgetDetailOf(request)
  if (status !== 'open' || detail === null || !decision.approved) return made
  const problem = raise === undefined ? undefined : raiseProblem(detail, raise)
  if (problem !== undefined) throw refuse(`raise: ${problem}.`)
  const { owner, period, beganAt, limit: name, approval } = detail
  const most = raise ?? raisedBy(detail)
  await raiseLimit(tx, { owner, period, beganAt, name, most, approval })
  await releaseOthers(tx, request, { ...made, answer: { most }, now: nowMicros() })
  return { ...made, answer: { most } }
}

/** A limit that is raised for one thread is raised for all that wait for it: fifty subagents ask one person once. */
async function releaseOthers(tx: Writer, request: PendingRecord, decision: Decision): Promise<void> {
  const detail = budgetDetailOf(request)
  if (detail === null || decision.approved !== true || request.status !== 'open') return
  for (const other of await listBudgetRequestsOf(tx, detail)) {
    const { thread_id: threadId, id, status } = other
    const rule = budgetDetailOf(other)?.approval ?? {}
    const isSelf = threadId === request.thread_id && id === request.id
    if (isSelf || status !== 'open' || demandsMore(rule, detail.approval)) continue
    await answerRequest(tx, { ...decision, threadId, id })
  }
}

async function checkChanged(db: Reader, request: PendingRecord, changed: JsonObject): Promise<JsonObject> {
  const { thread_id: threadId, id } = request
  const detail = approvalDetailOf(request)
  if (detail === null || !takesArguments(detail))
    throw new MessageRejectedError(
      threadId,
      `Expected no "arguments" for request "${id}", because nobody knows what arguments "${request.tool_name ?? ''}" has. The request stays open.`,
    )
  const args = restoreFields(changed, await originalOf(db, request)) as JsonObject
  const hidden = hiddenField(args)
  if (hidden !== undefined)
    throw new MessageRejectedError(
      threadId,
      `Expected a value of "${hidden}" in "arguments", got one that was hidden and has none at this place: give the value. The request stays open.`,
    )
  const problem = argumentsProblem(detail, args)
  if (problem === undefined) return args
  throw new MessageRejectedError(
    threadId,
    `Expected "arguments" that fit the schema of "${request.tool_name ?? ''}", got others: ${problem}. The request stays open.`,
  )
}

async function originalOf(
  db: Reader,
  { thread_id: threadId, call_id: callId }: PendingRecord,
): Promise<JsonValue> {
  const call = callId === null ? null : await findToolCall(db, threadId, callId)
  return call === null ? {} : argumentsOf(call)
}

/** The worker checks them again by the tool's own schema, which may demand more than its JSON schema says. */
function argumentsProblem({ schema }: ApprovalDetail, args: JsonObject): string | undefined {
  if (schema !== undefined) return schemaProblem(schema, args)
  return Object.keys(args).length === 0 ? undefined : 'the tool has no arguments'
}

interface Remembering {
  readonly remember: Remember
  /** Those that the person gave. */
  readonly args: JsonObject | undefined
  readonly by: string | undefined
}

async function writeGrant(
  tx: Writer,
  request: PendingRecord,
  { remember, args, by }: Remembering,
): Promise<void> {
  const { thread_id: threadId, id, call_id: callId, tool_name: toolName } = request
  const call = callId === null ? null : await findToolCall(tx, threadId, callId)
  const capabilities = call?.decision?.capabilities ?? []
  const { what = capabilities.length > 0 ? 'capabilities' : 'arguments', expiresIn } = remember
  if (what === 'capabilities' && capabilities.length === 0)
    throw new MessageRejectedError(
      threadId,
      `Expected "remember" with what: "arguments" for request "${id}", because "${toolName ?? ''}" needs no capabilities.`,
    )
  const now = nowMicros()
  const isKept = await insertGrant(tx, await requireThread(tx, threadId), {
    id: `${threadId}:${id}`,
    scope: remember.for,
    tool_name: toolName ?? '',
    capabilities: what === 'capabilities' ? capabilities : null,
    arguments_digest: what === 'arguments' ? digestOf(args ?? (await originalOf(tx, request))) : null,
    approval: approvalDetailOf(request)?.approval ?? null,
    request_id: id,
    granted_by: by ?? null,
    created_at: now,
    expires_at: expiresIn === undefined ? null : now + toMicros(expiresIn),
  })
  if (!isKept)
    throw new MessageRejectedError(
      threadId,
      `Expected "remember" for "thread" or "tree", because the thread "${threadId}" has no user.`,
    )
}
