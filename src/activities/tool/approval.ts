/**
 * The permission of a call.
 * Owns: the requests for approval of a call, and the decision that each of them holds.
 * Does not own: the commit of a denial (`function-call.ts`).
 * A permission is requested before the operation is `started`, so a call that waited, for minutes or weeks, never has an
 * unknown outcome (T4). The row of the request holds the decision and the digest of the arguments that were shown; other
 * arguments need a new request. Text of the conversation decides nothing.
 */
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import type { ToolDefinition } from '../../definitions/tool.js'
import type { ExecuteToolAnswer, ExecuteToolInput, PendingAnswer } from '../../protocol/activities.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import type { JsonValue } from '../../protocol/values.js'
import { insertRequest, requestsOfCall } from '../../store/calls/requests.js'
import type { PendingRecord } from '../../store/calls/requests.js'
import type { ToolCallRecord } from '../../store/calls/tool-calls.js'
import { digestOf } from '../../store/digest.js'
import { recordError } from '../../store/errors.js'
import { appendEvents } from '../../store/events.js'
import type { OperationRecord } from '../../store/operations.js'
import type { Store, Writer } from '../../store/store.js'
import { assertStoppedByUser } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import { postpone, unstoredFacts } from '../operation.js'
import { callScope, microseconds } from '../scope.js'
import { readThrown } from '../thrown.js'
import type { Thrown } from '../thrown.js'
import { runBounded } from './bounded.js'
import { openCallState } from '../thread-state/buffered-state.js'
import { outcomeResult, ERROR_PREFIX } from './call-result.js'
import type { CallResult } from './call-result.js'
import { enterCall, resolveRequest } from './held-call.js'

/** As long as a hook may take: if `needsApproval` hangs longer, a person is asked. */
const APPROVAL_CHECK = 30_000

/** Whether a call may run. */
type Permission =
  | { readonly kind: 'granted' }
  /** The call must not run yet, or it already has an outcome. */
  | { readonly kind: 'answered'; readonly answer: ExecuteToolAnswer }
  | { readonly kind: 'denied'; readonly operation: OperationRecord; readonly result: CallResult }

interface Asking {
  readonly input: ExecuteToolInput
  readonly row: ToolCallRecord
  /** As the activity found it; null: no attempt has begun the call. */
  readonly operation: OperationRecord | null
  readonly content: PlanContent
  readonly tool: ToolDefinition
  readonly signal: AbortSignal
}

/** Returns the permission of a call; requests it from a person if it is needed and no request exists. */
export async function checkPermission(
  dependencies: ActivityDependencies,
  asking: Asking,
  args: Record<string, unknown>,
): Promise<Permission> {
  const { store } = dependencies
  const { input } = asking
  const stored = await readStoredPermission(store, asking)
  switch (stored.kind) {
    case 'begun':
      return GRANTED
    case 'granted':
    case 'denied':
      return stored
    case 'waiting':
      return { kind: 'answered', answer: stored.answer }
    case 'outdated':
      return askApproval(store, input, { requested: stored.requested, problem: null })
    case 'never_asked': {
      // The code of such a call is not run, so it needs no permission.
      if (input.failed === true) return GRANTED
      const verdict = await needsApproval(dependencies, asking, args)
      return verdict.asks ? askApproval(store, input, { requested: 0, problem: verdict.problem }) : GRANTED
    }
  }
}

const GRANTED = { kind: 'granted' } as const

type StoredPermission =
  /** The call has begun or waits for nothing: the row of its operation decides. */
  | { readonly kind: 'begun' }
  | { readonly kind: 'never_asked' }
  | { readonly kind: 'waiting'; readonly answer: PendingAnswer }
  /** The arguments are no longer those that were shown. */
  | { readonly kind: 'outdated'; readonly requested: number }
  | Exclude<Permission, { readonly kind: 'answered' }>

async function readStoredPermission(
  store: Store,
  { input, row, operation }: Asking,
): Promise<StoredPermission> {
  const { threadId, callId, response } = input
  if (operation === null) return { kind: 'never_asked' }
  if (operation.state !== 'waiting') return { kind: 'begun' }
  const ofCall = await store.read((db) => requestsOfCall(db, threadId, callId))
  const requests = ofCall.filter(({ kind }) => kind === 'approval')
  const requested = requests.length
  const request = requests.find(({ id }) => id === approvalId(callId, requested))
  if (request === undefined) return { kind: 'never_asked' }
  // Only a call with the workflow's response goes on: a retry of the activity that made the request has none.
  const decided = response?.requestId === request.id ? decisionOf(request, response.approved) : null
  if (decided === null) return { kind: 'waiting', answer: approvalAnswer(request.id) }
  if (!decided) return { kind: 'denied', operation, result: denialResult(request.reason) }
  return request.digest === argumentsDigest(row) ? { kind: 'granted' } : { kind: 'outdated', requested }
}

/** The result of a call that a person did not allow; it gives the model the reason. */
function denialResult(reason: string | null): CallResult {
  const why = reason === null || reason.trim() === '' ? '' : ` The reason: ${reason}`
  const content = `${ERROR_PREFIX}A person did not allow this call, so it was not made.${why}`
  return outcomeResult('denied', content)
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

/**
 * The digest of the arguments as the model wrote them, because a person sees them so. Broken JSON never reaches this
 * point: the call has failed before.
 */
function argumentsDigest({ arguments: text }: ToolCallRecord): string {
  return digestOf(text.trim() === '' ? {} : (JSON.parse(text) as JsonValue))
}

interface Question {
  /** The number of earlier requests of the call. */
  readonly requested: number
  /** The failure of the tool's own check, if it failed. */
  readonly problem: Thrown | null
}

/** Requests approval in one transaction. The permission is granted if another attempt has begun the call since. */
async function askApproval(
  store: Store,
  input: ExecuteToolInput,
  { requested, problem }: Question,
): Promise<Permission> {
  const { threadId, callId, response } = input
  return store.write(async (tx): Promise<Permission> => {
    const entered = await enterCall(tx, input, callId)
    if (entered.kind === 'answered') return entered
    const { found, row, opening } = entered
    if (found.operation?.state === 'started') return GRANTED
    const now = microseconds(input)
    await postpone(tx, found, { kind: 'tool', place: { run: input.run, step: input.step }, now })
    const id = approvalId(callId, requested + 1)
    const digest = argumentsDigest(row)
    const request = {
      thread_id: threadId,
      id,
      kind: 'approval',
      call_id: callId,
      tool_name: row.name,
      digest,
    } as const
    if (!(await insertRequest(tx, { ...request, requested_at: now })))
      return { kind: 'answered', answer: approvalAnswer(id) }
    const resolved = response === null ? [] : await resolveRequest(tx, input, response)
    const warned = problem === null ? [] : [await recordProblem(tx, input, problem)]
    const required = fact(
      'action.required',
      { requestId: id, kind: 'approval', toolName: row.name },
      callScope(input),
    )
    const events = [...(await unstoredFacts(tx, input)), ...opening, ...resolved, ...warned, required]
    await appendEvents(tx, { threadId, events, now })
    return { kind: 'answered', answer: approvalAnswer(id) }
  })
}

/** Records the failure of the check for operators (T5) and returns its warning. A person decides instead. */
async function recordProblem(tx: Writer, input: ExecuteToolInput, problem: Thrown): Promise<Fact> {
  const { threadId, callId } = input
  const at = microseconds(input)
  const { message, stack } = problem
  await recordError(tx, {
    id: `${threadId}:${callId}:approval`,
    threadId,
    at,
    type: 'approval_check',
    message,
    stack,
  })
  return fact(
    'runtime.warning',
    {
      code: 'approval_check_failed',
      message: 'The check whether a call needs approval failed, so a person decides.',
    },
    callScope(input),
  )
}

interface Verdict {
  readonly asks: boolean
  /** The failure of the tool's own check, if it gave no answer. */
  readonly problem: Thrown | null
}

const NO: Verdict = { asks: false, problem: null }
const YES: Verdict = { asks: true, problem: null }

/**
 * Decides whether a person has to allow a call. It fails closed: a check that throws, hangs, or answers anything but
 * false needs a person. Writes of the check to the thread are dropped.
 */
async function needsApproval(
  dependencies: ActivityDependencies,
  asking: Asking,
  args: Record<string, unknown>,
): Promise<Verdict> {
  const { needsApproval: check = false } = asking.tool
  if (check === false) return NO
  if (typeof check !== 'function') return YES
  const abort = new AbortController()
  const { signal } = asking
  const { state, redactor, close } = await openCallState(dependencies, asking, abort.signal)
  // `args` were parsed by the tool's own schema.
  const bounds = { timeout: APPROVAL_CHECK, signal, abort }
  const checked = await runBounded(() => check(state, args as never), bounds)
  close()
  switch (checked.kind) {
    case 'answered':
      return checked.value === false ? NO : YES
    case 'threw':
      return { asks: true, problem: readThrown(redactor.redactThrown(checked.error)) }
    case 'timed_out':
      return {
        asks: true,
        problem: readThrown(new Error(`It did not answer within ${APPROVAL_CHECK / 1000} s.`)),
      }
    case 'stopped':
      assertStoppedByUser()
      // The call begins and ends at once as interrupted.
      return NO
  }
}
