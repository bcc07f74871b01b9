/**
 * The permission of a call.
 * Owns: the decision in its row, and how the answer of a person and what is known by then decide together.
 * Does not own: what the sources say (`permit.ts`), how they and the mode combine (`policy/judge.ts`), the requests to a person and
 * their answers (`approval-request.ts`), and the commit of a denial (`commit-result.ts`).
 * Invariants:
 * - The decision is made in the transaction that would begin the call, from the permissions that the store has then, and each
 *   call that begins has its record.
 * - A permission is requested before the operation is `started`, so a call that waited, for minutes or weeks, never has an
 *   unknown outcome (T4). Text of the conversation decides nothing.
 * - What rules deny by the time of the answer does not run, whoever has approved it.
 */
import { keepAction } from '../../policy/action-record.js'
import type { KeptDecision } from '../../policy/action-record.js'
import { traitsOfStart } from '../../policy/action.js'
import type { ActionKind } from '../../protocol/event-codes.js'
import { demandsMore } from '../../policy/approval.js'
import { ALLOWED_BY_DEFAULT, answeredBy, judgeForThread } from '../../policy/judge.js'
import type { PermissionMode } from '../../policy/judge.js'
import type { PendingAnswer } from '../../protocol/activities.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { withoutUndefined } from '../../protocol/values.js'
import type { JsonObject } from '../../protocol/values.js'
import { argumentsOf, recordDecision } from '../../store/calls/tool-calls.js'
import type { ToolCallRecord } from '../../store/calls/tool-calls.js'
import { recordError } from '../../store/errors.js'
import { appendEvents } from '../../store/events.js'
import { findOperation } from '../../store/operations.js'
import type { OperationRecord } from '../../store/operations.js'
import type { Writer } from '../../store/store.js'
import { findThread } from '../../store/threads/threads.js'
import { continuationOf, digestFacts, postpone, unstoredFacts } from '../operation.js'
import type { Unfinished } from '../operation.js'
import { callScope, microseconds } from '../scope.js'
import type { HeldInput } from '../scope.js'
import type { ThreadOfCall } from '../../store/threads/threads.js'
import { readStoredAnswer, requestApproval, resolveRequest } from './approval-request.js'
import type { CallResponse } from './approval-request.js'
import { ERROR_PREFIX, outcomeResult } from './call-result.js'
import type { CallResult } from './call-result.js'
import { judgePermit } from './judge-permit.js'
import type { Permit } from './judge-permit.js'

/** Whether a call may begin. */
type Permission =
  | {
      readonly kind: 'granted'
      /** Null: an earlier attempt has begun the call, and its row has the decision. */
      readonly decision: KeptDecision | null
      readonly events: readonly Fact[]
      /** Those that a hook or a person gave in the place of the model's, as JSON. */
      readonly arguments?: string
    }
  | { readonly kind: 'answered'; readonly answer: PendingAnswer }
  | Denied

/** A call that must not begin: `commitDenial` commits its result. */
export interface Denied {
  readonly kind: 'denied'
  readonly operation: OperationRecord
  readonly decision: KeptDecision
  readonly result: CallResult
  /** Those that a hook gave in the place of the model's, as JSON. */
  readonly arguments?: string
  /** What a person answered in the tool's place, before validation. */
  readonly given?: JsonObject
  /** Of the hooks that were asked, where the denial is stored with its result only. */
  readonly events?: readonly Fact[]
}

/** The call in the transaction that would begin it. */
interface EnteredCall {
  readonly input: HeldInput
  readonly response: CallResponse | null
  readonly thread: ThreadOfCall
  readonly found: Unfinished
  readonly row: ToolCallRecord
  /** Events that precede all others of the call. */
  readonly opening: readonly Fact[]
  /** What the record says of a call that is not judged; the mode is that of the worker. */
  readonly called: { readonly kind: ActionKind; readonly mode: PermissionMode | undefined }
}

/** Decides whether a call may begin. Without a permit nothing is judged: the call has no effect, or has been decided about. */
export async function decidePermission(
  tx: Writer,
  entered: EnteredCall,
  permit: Permit | null,
): Promise<Permission> {
  const { operation } = entered.found
  if (operation === null) return decideAnew(tx, entered, permit)
  if (operation.state !== 'waiting' || continuationOf(operation) !== null)
    return { kind: 'granted', decision: null, events: [] }
  const { row } = entered
  // A policy has denied it, and the attempt that was to commit this has died.
  if (row.decision?.decision === 'denied')
    return { kind: 'denied', operation, decision: row.decision, result: refusalResult(row.decision, row) }
  const answered = await readStoredAnswer(tx, entered)
  // A call that waits was asked about. Without its request it is asked about again.
  if (answered === null)
    return permit === null
      ? ALLOWED
      : ask(tx, entered, { permit, decision: row.decision ?? ASKED, number: 1 })
  return answered.kind === 'waits'
    ? { kind: 'answered', answer: answered.answer }
    : decideByAnswer(tx, { ...entered, operation }, { permit, answered })
}

const ALLOWED: Permission = { kind: 'granted', decision: ALLOWED_BY_DEFAULT, events: [] }
const ASKED: KeptDecision = { decision: 'asked', source: 'tool' }

async function decideAnew(tx: Writer, entered: EnteredCall, permit: Permit | null): Promise<Permission> {
  if (permit === null) return { kind: 'granted', decision: unjudged(entered), events: [] }
  const { input, thread } = entered
  const { changed } = permit
  const row = changed === null ? entered.row : { ...entered.row, arguments: changed.text }
  const judged = await judgePermit(tx, permit, { input, row, permissions: thread.permissions })
  const told = kept(judged, permit, row)
  const decision = changed === null ? told : { ...told, changedBy: changed.by }
  switch (decision.decision) {
    case 'allowed': {
      const events = await evaluationFacts(tx, { ...entered, row }, { permit, decision })
      return { kind: 'granted', decision, events, ...(changed !== null && { arguments: changed.text }) }
    }
    case 'asked':
      return ask(tx, { ...entered, row }, { permit, decision, number: 1 })
    case 'denied':
      return deny(tx, { ...entered, row }, { permit, decision })
  }
}

/** Of a call about which nothing is said, or that has no effect. */
function unjudged({ thread, called: { kind, mode } }: EnteredCall): KeptDecision {
  const traits = traitsOfStart()
  const decision = judgeForThread({ traits, rules: [], opinions: [], mode }, thread.permissions)
  return kind === 'tool' ? decision : { ...decision, action: { kind } }
}

/** With what the record says of the action. */
function kept(decision: KeptDecision, permit: Permit, row: Pick<ToolCallRecord, 'arguments'>): KeptDecision {
  const { traits, isRemote = false } = permit
  const { kind, arguments: args } = permit.question()
  return keepAction(decision, { kind, args, traits, isRemote }, row.arguments)
}

/** Keeps the denial before its result is committed: it is final. */
async function deny(
  tx: Writer,
  entered: EnteredCall,
  judged: Pick<HeldBack, 'permit' | 'decision'>,
): Promise<Denied> {
  const { row, found } = entered
  const { decision } = judged
  await holdBack(tx, entered, { ...judged, events: [] })
  const held = await findOperation(tx, row.thread_id, found.id)
  if (held === null) throw new Error(`Expected the operation ${found.id}, found none.`)
  const result = refusalResult(decision, row)
  return { kind: 'denied', operation: held, decision, result, arguments: row.arguments }
}

type StoredAnswer = NonNullable<Awaited<ReturnType<typeof readStoredAnswer>>>

interface AnsweredCall {
  readonly permit: Permit | null
  readonly answered: Exclude<StoredAnswer, { readonly kind: 'waits' }>
}

async function decideByAnswer(
  tx: Writer,
  entered: EnteredCall & { readonly operation: OperationRecord },
  { permit, answered }: AnsweredCall,
): Promise<Permission> {
  const { operation, row, thread } = entered
  const given = answered.kind === 'approved' ? answered.arguments : undefined
  const judged = decisionOfPerson(row.decision, answered)
  const decision = permit === null ? judged : kept(judged, permit, row)
  const hooked = async (): Promise<readonly Fact[]> => (await permit?.hookFacts?.(tx)) ?? []
  if (answered.kind === 'denied') {
    const { reason, isExpired, result: inPlace } = answered
    const result = isExpired ? EXPIRED : denialResult(reason)
    const events = await hooked()
    const put = inPlace === undefined ? {} : { given: inPlace }
    return { kind: 'denied', operation, decision, result, events, ...put }
  }
  if (permit !== null) {
    // The approval answers what needs one, and no deny.
    const now = judgeForThread(permit, thread.permissions, { grant: answered.requestId })
    if (now.decision === 'denied') {
      const { requestId, by } = decision
      const told = kept({ ...now, ...withoutUndefined({ requestId, by }) }, permit, row)
      // The answer of the person is told with the result of the call.
      return deny(tx, { ...entered, response: null }, { permit, decision: told })
    }
    const isOfAnother = demandsMore(permit.question().approval, answered.approval)
    if (isOfAnother && given !== undefined) {
      const denied = { ...decision, decision: 'denied' } as const
      return { kind: 'denied', operation, decision: denied, result: OTHER_APPROVER, events: await hooked() }
    }
    if (answered.isOutdated || isOfAnother)
      return ask(tx, entered, { permit, decision: row.decision ?? ASKED, number: answered.requested + 1 })
  }
  // The event of the answered request says what a person decided.
  const events = await hooked()
  if (given === undefined) return { kind: 'granted', decision, events }
  // The row of the call gets them.
  const text = JSON.stringify(given)
  const ran = permit === null ? judged : kept(judged, permit, { arguments: text })
  return { kind: 'granted', decision: ran, events, arguments: text }
}

/** What the decision says once a person has answered. */
function decisionOfPerson(known: KeptDecision | null, answered: AnsweredCall['answered']): KeptDecision {
  const { kind, requestId, by, reason } = answered
  const { reason: _before, ...facts } = known ?? ASKED
  const isChanged = kind === 'approved' && answered.arguments !== undefined
  const isInPlace = kind === 'denied' && answered.result !== undefined
  const isExpired = kind === 'denied' && answered.isExpired
  return {
    ...facts,
    ...answeredBy(isExpired ? 'expiry' : 'person', facts),
    ...{ decision: kind === 'approved' ? 'allowed' : 'denied', requestId },
    ...(by !== null && { by }),
    ...(reason === null ? {} : { reason }),
    ...(isChanged && { changed: true }),
    ...(isInPlace && { answered: true }),
  }
}

/** The result of a call that a person did not allow; it gives the model the reason. */
function denialResult(reason: string | null): CallResult {
  return outcomeResult(
    'denied',
    `${ERROR_PREFIX}A person did not allow this call, so it was not made.${because(reason)}`,
  )
}

/** Who may answer depends on the arguments, and the person changed these. */
const OTHER_APPROVER: CallResult = outcomeResult(
  'denied',
  `${ERROR_PREFIX}A person changed the arguments of this call to some that somebody else has to approve, so it was not made.`,
)

const EXPIRED: CallResult = {
  ...outcomeResult('denied', `${ERROR_PREFIX}Nobody approved this call in time, so it was not made.`),
  errorCode: 'approval_expired',
}

function because(reason: string | null = null): string {
  return reason === null || reason.trim() === '' ? '' : ` The reason: ${reason}`
}

/** The result of a call that rules, the mode or a policy do not allow. A denied call of a thread that nobody watches has its request. */
function refusalResult({ source, reason, capabilities = [] }: KeptDecision, row: ToolCallRecord): CallResult {
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

interface Asking {
  readonly permit: Permit
  readonly decision: KeptDecision
  /** Of the request, from 1. */
  readonly number: number
}

/** Requests approval in the transaction that would have begun the call. */
async function ask(
  tx: Writer,
  entered: EnteredCall,
  { permit, decision, number }: Asking,
): Promise<Permission> {
  const { input, row } = entered
  const thread = await findThread(tx, input.threadId)
  const question = permit.question()
  const requester = thread?.user_id ?? null
  const asked = await requestApproval(tx, { input, row, question, requester, number })
  const { answer, events, expiresAt } = asked
  const until = expiresAt === null ? {} : { expiresAt }
  if (events.length > 0)
    await holdBack(tx, entered, {
      ...{ permit, events },
      decision: kept({ ...decision, requestId: answer.requestId, ...until }, permit, row),
    })
  return { kind: 'answered', answer }
}

interface HeldBack {
  readonly permit: Permit
  readonly decision: KeptDecision
  readonly events: readonly Fact[]
}

/** Keeps a call from beginning: its operation waits, its row has the decision, and the facts of the input are stored. */
async function holdBack(
  tx: Writer,
  { input, row, response, found, opening }: EnteredCall,
  { permit, decision, events: last }: HeldBack,
): Promise<void> {
  const { threadId, callId, run, step } = input
  const now = microseconds(input)
  const facts = await unstoredFacts(tx, input)
  // The result of a denial follows in another transaction, which must not store them again.
  const detail = decision.decision === 'denied' ? digestFacts(facts) : null
  await postpone(tx, found, { kind: 'tool', place: { run, step }, now, detail })
  const changed = permit.changed === null ? {} : { arguments: permit.changed.text }
  await recordDecision(tx, { threadId, callId, decision, ...changed })
  const resolved = response === null ? [] : await resolveRequest(tx, input, response)
  const events = [
    ...facts,
    ...opening,
    ...resolved,
    ...(await evaluationFacts(tx, { input, row }, { permit, decision })),
    ...last,
  ]
  await appendEvents(tx, { threadId, events, now })
}

/** The events of a decision that something was said about: hooks, the checks that failed, and what was decided. */
async function evaluationFacts(
  tx: Writer,
  { input, row }: Pick<EnteredCall, 'input' | 'row'>,
  { permit, decision: made }: Pick<HeldBack, 'permit' | 'decision'>,
): Promise<readonly Fact[]> {
  const warned: Fact[] = [...((await permit.hookFacts?.(tx)) ?? [])]
  for (const problem of permit.problems) warned.push(await recordProblem(tx, input, problem))
  const { decision, source, rules, hook } = made
  if (source === 'default' || source === 'person' || source === 'expiry') return warned
  const payload = {
    ...{ toolName: row.name, action: permit.question().kind, decision, source },
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
  const scope = callScope(input)
  const { check, type } = PROBLEMS[source]
  const id = `${threadId}:${callId}:${check}`
  await recordError(tx, { id, threadId, at: microseconds(input), type, message, stack })
  switch (source) {
    case 'tool': {
      const sentence = 'The check whether a call needs approval failed, so a person decides.'
      return fact('runtime.warning', { code: 'approval_check_failed', message: sentence }, scope)
    }
    case 'policy': {
      const sentence = 'The policy function of the worker failed, so the call was denied.'
      return fact('runtime.warning', { code: 'policy_failed', message: sentence }, scope)
    }
    case 'preview': {
      const sentence = 'The preview of a call that needs approval failed, so the call was denied.'
      return fact('runtime.warning', { code: 'preview_failed', message: sentence }, scope)
    }
  }
}

/** Part of the id of the error, and its type. */
const PROBLEMS = {
  tool: { check: 'approval', type: 'approval_check' },
  policy: { check: 'policy', type: 'policy.failed' },
  preview: { check: 'preview', type: 'preview.failed' },
} as const
