import type { PlanContent } from '../../definitions/plan/plan-content.js'
import { parseToolArguments } from '../../definitions/plan/tool-arguments.js'
import type { ToolDefinition } from '../../definitions/tool.js'
import type {
  EndAnswer,
  ExecuteToolAnswer,
  ExecuteToolInput,
  PendingAnswer,
  ResultAnswer,
  TerminatedAnswer,
} from '../../protocol/activities.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { LIMITS } from '../../protocol/limits.js'
import type { JsonValue } from '../../protocol/values.js'
import { callHolder } from '../../store/calls/close-open-calls.js'
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
import type { HookBatch } from '../hooks/hook-batch.js'
import { previousHold, postpone } from '../operation.js'
import { callScope, microseconds, phaseFive } from '../scope.js'
import { readThrown } from '../thrown.js'
import type { Thrown } from '../thrown.js'
import { runBounded } from './bounded.js'
import { openCallState } from './call-hooks.js'
import { denied, endedFromOutside, failed, unknown } from './call-result.js'
import { commitResult } from './commit-result.js'
import { beginCall, enterCall, resolveRequest } from './held-call.js'
import { sendRemote } from './remote-call.js'
import { runTool } from './run-tool.js'

interface FunctionCall {
  readonly input: ExecuteToolInput
  readonly row: ToolCallRecord
  /** As it was found; null: no attempt has begun the call. */
  readonly operation: OperationRecord | null
  readonly content: PlanContent
  readonly tool: ToolDefinition
  /** Milliseconds, over all of its tries. */
  readonly timeout: number
  readonly signal: AbortSignal
  readonly hooks: HookBatch
}

/** Runs a function tool, after the permission that it may need. */
export async function executeFunction(
  dependencies: ActivityDependencies,
  calling: FunctionCall,
): Promise<ExecuteToolAnswer> {
  const { store } = dependencies
  const { input, row, tool, hooks } = calling
  const parsed = parseToolArguments(tool, row.arguments)
  const held = parsed.ok ? await answerUnlessPermitted(dependencies, calling, parsed.args) : null
  if (held !== null) return held
  const { remote } = tool
  const isEnded = input.failed === true && remote === undefined
  // A remote call is only sent here, so nothing has happened yet: `remote-call.ts` decides whether it may be
  // repeated.
  const isRepeatable = (tool.idempotent === true && !isEnded) || remote !== undefined
  const onInterrupted = isRepeatable ? 'rerun' : 'report'
  const { callId: id, response } = input
  const begun = await beginCall(store, input, { id, onInterrupted, response })
  if (begun.kind === 'answered') return begun.answer
  const { call } = begun
  if (begun.kind === 'interrupted')
    return commitResult(store, call, isEnded ? endedFromOutside(true) : unknown(), { hooks })
  if (!parsed.ok) return commitResult(store, call, failed(parsed.problem, 'invalid_arguments'), { hooks })
  if (isEnded) return commitResult(store, call, endedFromOutside(false), { hooks })
  if (remote !== undefined) return sendRemote(dependencies, { ...calling, call, remote, args: parsed.args })
  return runTool(dependencies, { ...calling, call, args: parsed.args })
}

/** The answer of a call that must not run yet, or not at all; null: it may run. */
async function answerUnlessPermitted(
  dependencies: ActivityDependencies,
  calling: FunctionCall,
  args: Record<string, unknown>,
): Promise<ExecuteToolAnswer | null> {
  const { store } = dependencies
  const { input } = calling
  const permission = await permissionOf(store, calling)
  switch (permission.kind) {
    case 'begun':
    case 'granted':
      return null
    case 'waiting':
      return permission.answer
    case 'denied':
      return commitDenial(store, calling, permission)
    case 'outdated':
      return askApproval(store, input, { asked: permission.asked, problem: null })
    case 'never_asked': {
      // Its code is not run, so no permission is needed.
      if (input.failed === true) return null
      const verdict = await needsApproval(dependencies, calling, args)
      return verdict.asks ? askApproval(store, input, { asked: 0, problem: verdict.problem }) : null
    }
  }
}

/** Commits the denial in one transaction: a call that was not allowed never begins. */
async function commitDenial(
  store: Store,
  { input, row, hooks }: FunctionCall,
  { operation, reason }: Extract<Permission, { readonly kind: 'denied' }>,
): Promise<ExecuteToolAnswer> {
  const holder = await store.read((db) => callHolder(db, row))
  const { response } = input
  const now = microseconds(input)
  const call = {
    ...{ input, row, holder, operation: previousHold(operation, now) },
    ...{ scope: callScope(input), now },
  }
  return commitResult(store, call, denied(reason), {
    hooks,
    opening: async (tx) => [
      ...input.facts,
      ...phaseFive(input, row),
      ...(response === null ? [] : await resolveRequest(tx, input, response)),
    ],
  })
}

/**
 * The permission of a call. It is asked for before the operation is `started`, so a call that waited, for minutes or
 * weeks, is never `unknown` (T4). The row of the request holds the decision and the digest of the arguments that were
 * shown; other arguments ask again. Text of the conversation decides nothing.
 */
type Permission =
  /** The call has begun, or waits for nothing: the row of its operation decides. */
  | { readonly kind: 'begun' }
  | { readonly kind: 'granted' }
  | { readonly kind: 'never_asked' }
  | { readonly kind: 'waiting'; readonly answer: PendingAnswer }
  | { readonly kind: 'denied'; readonly operation: OperationRecord; readonly reason: string | null }
  /** The arguments are no longer those that were shown. */
  | { readonly kind: 'outdated'; readonly asked: number }

interface Asking {
  readonly input: ExecuteToolInput
  readonly row: ToolCallRecord
  readonly operation: OperationRecord | null
}

async function permissionOf(store: Store, { input, row, operation }: Asking): Promise<Permission> {
  const { threadId, callId, response } = input
  if (operation === null) return { kind: 'never_asked' }
  if (operation.state !== 'waiting') return { kind: 'begun' }
  const ofCall = await store.read((db) => requestsOfCall(db, threadId, callId))
  const requests = ofCall.filter(({ kind }) => kind === 'approval')
  const asked = requests.length
  const request = requests.find(({ id }) => id === approvalId(callId, asked))
  if (request === undefined) return { kind: 'never_asked' }
  // Only a call with the workflow's response goes on: a retry of the activity that asked has none.
  const decided = response?.requestId === request.id ? decisionOf(request, response.approved) : null
  if (decided === null) return { kind: 'waiting', answer: approvalAnswer(request.id) }
  if (!decided) return { kind: 'denied', operation, reason: request.reason }
  return request.digest === argumentsDigest(row) ? { kind: 'granted' } : { kind: 'outdated', asked }
}

/** The decision of the row; else that of a bare update; null if there is none. */
function decisionOf({ status, approved }: PendingRecord, said: boolean | undefined): boolean | null {
  if (status === 'open') return said ?? null
  // Only an explicit approval allows the call.
  return status === 'answered' && approved === true
}

/** `approval_<call>`, then `approval_<call>_2` and so on. */
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
 * The digest of the arguments as the model wrote them, which is what a person sees. Broken JSON never gets this far.
 */
function argumentsDigest({ arguments: text }: ToolCallRecord): string {
  return digestOf(text.trim() === '' ? {} : (JSON.parse(text) as JsonValue))
}

interface Question {
  /** How many requests the call has made before. */
  readonly asked: number
  /** Why the tool's own check failed, if it did. */
  readonly problem: Thrown | null
}

/** Asks a person, in one transaction. Null: another attempt has begun the call since. */
async function askApproval(
  store: Store,
  input: ExecuteToolInput,
  { asked, problem }: Question,
): Promise<PendingAnswer | ResultAnswer | EndAnswer | TerminatedAnswer | null> {
  const { threadId, callId, response } = input
  return store.write(async (tx) => {
    const entered = await enterCall(tx, input, callId)
    if (entered.kind === 'answered') return entered.answer
    const { found, row, opening } = entered
    if (found.operation?.state === 'started') return null
    const now = microseconds(input)
    await postpone(tx, found, { kind: 'tool', place: { run: input.run, step: input.step }, now })
    const id = approvalId(callId, asked + 1)
    const digest = argumentsDigest(row)
    const request = {
      thread_id: threadId,
      id,
      kind: 'approval',
      call_id: callId,
      tool_name: row.name,
      digest,
    } as const
    if (!(await insertRequest(tx, { ...request, requested_at: now }))) return approvalAnswer(id)
    const resolved = response === null ? [] : await resolveRequest(tx, input, response)
    const warned = problem === null ? [] : [await recordProblem(tx, input, problem)]
    const required = fact(
      'action.required',
      { requestId: id, kind: 'approval', toolName: row.name },
      callScope(input),
    )
    const events = [...input.facts, ...opening, ...resolved, ...warned, required]
    await appendEvents(tx, { threadId, events, now })
    return approvalAnswer(id)
  })
}

/** Records that the check failed, where operators look (T5); a person is asked. */
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
      message: 'The check whether a call needs approval failed: it asks.',
    },
    callScope(input),
  )
}

interface Verdict {
  readonly asks: boolean
  /** Why the tool's own check gave no answer. */
  readonly problem: Thrown | null
}

const NO: Verdict = { asks: false, problem: null }
const YES: Verdict = { asks: true, problem: null }

/**
 * Whether a person has to allow a call. It fails closed: a check that throws, hangs, or answers anything but false
 * asks. What the check writes to the thread is not kept.
 */
async function needsApproval(
  dependencies: ActivityDependencies,
  calling: FunctionCall,
  args: Record<string, unknown>,
): Promise<Verdict> {
  const { needsApproval: check = false } = calling.tool
  if (check === false) return NO
  if (typeof check !== 'function') return YES
  const abort = new AbortController()
  const { signal } = calling
  const { state, redactor, close } = await openCallState(dependencies, calling, abort.signal)
  // `args` were parsed by the tool's own schema.
  const bounds = { timeout: LIMITS.approvalCheck, signal, abort }
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
        problem: readThrown(new Error(`It did not answer within ${LIMITS.approvalCheck / 1000} s.`)),
      }
    case 'stopped':
      assertStoppedByUser()
      // The call begins, and ends at once as interrupted.
      return NO
  }
}
