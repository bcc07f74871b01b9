/**
 * A call of a function tool.
 * Owns: whether its code may run (again), what each end of the code commits, and the remote row of a tool in
 * another language, with the data that the other worker gets.
 * Does not own: the permission (`permission.ts`), its tries (`tool-tries.ts`), what a tool's answer becomes (`tool-result.ts`), and the result of a
 * remote call (`complete-call.ts`).
 */

import type { PlanContent } from '../../definitions/plan/plan-content.js'
import type { PendingToolResult } from '../../definitions/tool-result.js'
import { parseToolArguments } from '../../definitions/plan/tool-arguments.js'
import type { RemoteActivity, ToolDefinition } from '../../definitions/tool.js'
import type {
  ExecuteToolAnswer,
  ExecuteToolInput,
  PendingAnswer,
  RemoteAnswer,
  ResultAnswer,
} from '../../protocol/activities.js'
import { fact } from '../../protocol/facts.js'
import { CUT_CALL } from '../../protocol/message.js'
import { schemaFormProblem } from '../../policy/schema-problem.js'
import type { JsonObject } from '../../protocol/values.js'
import { insertRemoteCall, remoteSecretPlace } from '../../store/calls/remote-calls.js'
import type { RemoteCall } from '../../store/calls/remote-calls.js'
import { insertRequest, takeEarlyAnswer } from '../../store/calls/requests.js'
import type { ToolCallRecord } from '../../store/calls/tool-calls.js'
import { recordError } from '../../store/errors.js'
import { appendEvents } from '../../store/events.js'
import { FileError } from '../../store/files/file-checks.js'
import type { OperationRecord } from '../../store/operations.js'
import { StoreError } from '../../store/store-error.js'
import type { Store, Writer } from '../../store/store.js'
import { findThread } from '../../store/threads/threads.js'
import { activeTraceparent } from '../../telemetry/spans.js'
import { pendingProblem, suspendCall } from '../sources/continuation.js'
import { assertStoppedByUser } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { askRunEnd, endsRun, refusalRow } from '../hooks/run-end-hooks.js'
import { TooManyOperations, assertFitting, commit, continuationOf, finish } from '../operation.js'
import { activePrompt } from '../../definitions/plan/plan-content.js'
import { countTokens, waitForToolCall } from '../rate-limits.js'
import { log } from '../temporal-activity.js'
import { errorFields, readThrown } from '../thrown.js'
import type { Thrown } from '../thrown.js'
import { resolveVariables } from '../variables/variables.js'
import { permitOfTool } from './permit.js'
import { argumentsToRun } from './approval-request.js'
import { openHookedCall } from './call-hooks.js'
import { outcomeResult, failureResult, unknownResult } from './call-result.js'
import type { CallResult } from './call-result.js'
import { commitDenial, commitResult } from './commit-result.js'
import { beginCall } from './held-call.js'
import type { HeldCall } from './held-call.js'
import { storeInPlace } from './in-place-log.js'
import { dropReports } from './live-reports.js'
import type { Denied } from './permission.js'
import { toCallResult } from './tool-result.js'
import { tryTool } from './tool-tries.js'
import { continuationIn, isPending } from './tool-values.js'

type ToolRun = Parameters<typeof tryTool>[1] & Pick<FunctionCall, 'onStopped'>
type Tried = Awaited<ReturnType<typeof tryTool>>

interface FunctionCall {
  readonly input: ExecuteToolInput
  readonly row: ToolCallRecord
  /** As the activity found it; null: no attempt has begun the call. */
  readonly operation: OperationRecord | null
  readonly content: PlanContent
  readonly tool: ToolDefinition
  /** Milliseconds, for all tries together. */
  readonly timeout: number
  readonly signal: AbortSignal
  readonly hooks: HookBatch
  /** Before the result of a call that a user has stopped. */
  readonly onStopped?: () => Promise<void>
}

/** Runs a function tool once it has the permission that it may need. */
export async function executeFunction(
  dependencies: ActivityDependencies,
  calling: FunctionCall,
): Promise<ExecuteToolAnswer> {
  const { store } = dependencies
  const { input, row, tool, hooks } = calling
  const limited = await waitForToolCall(dependencies, input, calling.operation)
  if (limited !== null) return limited
  const given = await argumentsToRun(store, input, row)
  const parsed = parseToolArguments(tool, given.arguments)
  const { remote } = tool
  const isEnded = input.failed === true && remote === undefined
  // This activity only sends a remote call, so nothing has happened yet: `complete-call.ts` decides what the call
  // becomes if the other worker does not answer.
  const isRepeatable = (tool.idempotent === true && !isEnded) || remote !== undefined
  const onInterrupted = isRepeatable ? 'rerun' : 'report'
  const { callId: id, response } = input
  const judged = { ...calling, row: { ...row, arguments: given.arguments } }
  // A further part of a call was decided about, and charged, with its first one.
  const isFirst = continuationOf(calling.operation) === null
  const permit =
    parsed.ok && isFirst ? await permitOfTool(dependencies, { ...judged, args: parsed.args }) : null
  const begun = await beginCall(store, input, {
    ...{ id, onInterrupted, response, permit },
    called: { kind: 'tool', mode: dependencies.permissionMode },
    ...(isFirst && { charged: { dependencies, content: calling.content } }),
  })
  if (begun.kind === 'answered') return begun.answer
  const { call } = begun
  if (begun.kind === 'denied') return commitRefused(dependencies, calling, { call, denied: begun.denied })
  if (begun.kind === 'interrupted')
    return commitResult(store, call, isEnded ? externalEndResult(true) : unknownResult(), { hooks })
  if (!parsed.ok) {
    const whose = given.isChanged ? 'A person gave other arguments, which do not fit: ' : ''
    return commitResult(store, call, failureResult(`${whose}${parsed.problem}`, 'invalid_arguments'), {
      hooks,
    })
  }
  if (isEnded) return commitResult(store, call, externalEndResult(false), { hooks })
  // The row has what the call began with: a hook may have given other arguments, also in an earlier attempt.
  const isSame = call.row.arguments === given.arguments
  const begunWith = isSame ? parsed : parseToolArguments(tool, call.row.arguments)
  if (!begunWith.ok)
    return commitResult(store, call, failureResult(begunWith.problem, 'invalid_arguments'), { hooks })
  const { args } = begunWith
  if (remote !== undefined) return sendRemote(dependencies, { ...calling, call, remote, args })
  return countTokens(dependencies, input, await runTool(dependencies, { ...calling, call, args }))
}

interface Refused {
  readonly call: HeldCall
  readonly denied: Denied
}

/** Commits the result of a call that must not begin: a refusal, or what a person answered in the tool's place. */
async function commitRefused(
  dependencies: ActivityDependencies,
  { input, content, tool, hooks }: FunctionCall,
  { call, denied }: Refused,
): Promise<ResultAnswer> {
  const { store } = dependencies
  const { response } = input
  if (denied.given === undefined) return commitDenial(store, call, { denied, response, hooks })
  const parsed = parseToolArguments(tool, call.row.arguments)
  const args = parsed.ok ? parsed.args : {}
  const opened = await openHookedCall(dependencies, { input, content }, new AbortController().signal)
  const result = await toCallResult(store, { call, ...opened, args, content, result: denied.given })
  return commitDenial(store, call, { denied, result, response, hooks: opened.hooks })
}

/** The result of a call whose activity was ended by an operator, or by a worker that cannot run it. */
function externalEndResult(hasBegun: boolean): CallResult {
  return hasBegun
    ? unknownResult('it was ended from outside before it answered')
    : failureResult('The call was ended from outside before it began, so nothing has happened.', 'not_begun')
}

/**
 * Runs the tool's own code, with its retries. An error is a result that keeps the writes of the last try; a timeout or an
 * interruption keeps none.
 */
async function runTool(dependencies: ActivityDependencies, run: ToolRun): Promise<ExecuteToolAnswer> {
  return conclude(dependencies.store, run, await tryTool(dependencies, run))
}

async function conclude(
  store: Store,
  run: ToolRun,
  { ended, thrown, problem, failure, state, hooks, requests }: Tried,
): Promise<ExecuteToolAnswer> {
  const { call } = run
  if (ended.kind === 'stopped') assertStoppedByUser()
  switch (ended.kind) {
    case 'stopped':
      await run.onStopped?.()
      return commitResult(store, call, await stopResult(store, call.input.threadId), { requests })
    case 'timed_out':
      return commitResult(store, call, failureResult(problem ?? '', 'timeout', { failure }), {
        ...{ requests, hooks: run.hooks },
      })
    case 'threw':
      return commitThrown(store, call, {
        ...{ error: ended.error, code: thrown?.code ?? null, failure, hooks, requests },
      })
    case 'answered': {
      const continued = continuationIn(ended.value)
      if (continued !== null) {
        const cannot = pendingProblem(call, continued)
        return cannot === null
          ? suspendCall(store, call, continued)
          : commitResult(store, call, failureResult(cannot, 'invalid_result'), { hooks })
      }
      if (isPending(ended.value))
        return commitPending(store, call, { state, hooks, pending: ended.value, failure })
      const result = await toCallResult(store, { ...run, state, hooks, failure, result: ended.value })
      return commitAnswered(store, run, { result, hooks, requests })
    }
  }
}

type Answered = Pick<Tried, 'hooks' | 'requests'> & {
  readonly result: Awaited<ReturnType<typeof toCallResult>>
}

/** Commits the answer of a tool. If it ends the run, hooks may refuse that: their message stands in the place of the tool's words. */
async function commitAnswered(
  store: Store,
  { call, content }: ToolRun,
  { result, hooks, requests }: Answered,
): Promise<ResultAnswer> {
  const { input, row, now } = call
  const { threadId, run, step, side, queued } = input
  const made = 'put' in result ? result.result : result
  const alongside = { hooks, isStateOfCall: true, requests }
  const ends = !queued && row.parent_call_id === null && endsRun(content, { side, tool: row.name })
  if (!ends) return commitResult(store, call, result, alongside)
  const ending = { run, step, reason: 'stop_tool', text: made.followedBy?.content ?? null } as const
  const { refusal, operations, record } = await askRunEnd(store, hooks, { threadId, side, now, ending })
  const followedBy = refusal === null ? made.followedBy : refusalRow(refusal)
  const judged = { ...made, followedBy }
  return commitResult(store, call, 'put' in result ? { ...result, result: judged } : judged, {
    ...{ ...alongside, operations },
    ending: async (tx) => appendEvents(tx, { threadId, events: await record(tx), now }),
  })
}

interface Failed extends Pick<Tried, 'hooks' | 'requests' | 'failure'> {
  readonly error: unknown
  /** What the error gives to programs. */
  readonly code: string | null
}

/**
 * Commits an error of the tool's code. Its message is the result; operators find message and stack under the error's id.
 */
async function commitThrown(
  store: Store,
  call: HeldCall,
  { error, code, failure, hooks, requests }: Failed,
): Promise<ExecuteToolAnswer> {
  const { threadId, callId } = call.input
  const thrown = readThrown(error)
  const errorId = `${threadId}:${callId}`
  log.warn('A tool failed.', { tool: call.row.name, errorId, ...errorFields(thrown) })
  const kept = { id: errorId, threadId, at: call.now, type: 'tool.threw', ...thrown }
  return commitResult(store, call, failureResult(messageOf(thrown), code, { errorId, failure }), {
    ...{ hooks, isStateOfCall: true, requests },
    ending: (tx) => recordError(tx, kept),
  })
}

async function stopResult(store: Store, threadId: string): Promise<CallResult> {
  const thread = await store.read((db) => findThread(db, threadId))
  return thread?.terminate_requested_at == null
    ? outcomeResult('interrupted', CUT_CALL.interrupted)
    : outcomeResult('cancelled', CUT_CALL.cancelled)
}

function messageOf({ message }: Thrown): string {
  return message === '' ? 'The tool failed without a reason.' : message
}

interface Pending extends Pick<Tried, 'state' | 'hooks' | 'failure'> {
  readonly pending: PendingToolResult
}

/**
 * Commits a call whose answer comes from outside, under the call's own id. The call's writes to its thread are kept now
 * (T9), and the answer is later validated as any result. An answer that arrived before the request is found here.
 */
async function commitPending(
  store: Store,
  call: HeldCall,
  { state, hooks, pending, failure }: Pending,
): Promise<PendingAnswer | ResultAnswer> {
  const form = formOf(pending)
  if (typeof form === 'string')
    return commitResult(store, call, failureResult(form, 'invalid_result'), { hooks })
  const badContext = state.lookAtContext()
  if (badContext !== undefined)
    return commitResult(store, call, failureResult(badContext, 'invalid_context'), { hooks })
  try {
    return await commit(store, call.operation, (tx) => storeQuestion(tx, call, { hooks, form, failure }))
  } catch (error) {
    if (error instanceof TooManyOperations)
      return commitResult(store, call, failureResult(error.message, 'too_many_operations'))
    if (!FileError.isInstance(error)) throw error
    return commitResult(store, call, failureResult(error.message, 'invalid_file'))
  }
}

/** The JSON schema of the answer that a pending call asks for; null: any result. A text is what is wrong with it. */
function formOf({ form }: PendingToolResult): JsonObject | string | null {
  if (form === undefined) return null
  const problem = schemaFormProblem(form)
  return problem === undefined ? form : `The tool answered with a "form" that is no JSON Schema: ${problem}`
}

async function storeQuestion(
  tx: Writer,
  call: HeldCall,
  { hooks, form, failure }: Pick<Pending, 'hooks' | 'failure'> & { readonly form: JsonObject | null },
): Promise<PendingAnswer> {
  const { input, row, operation, now, scope } = call
  const { threadId, callId } = input
  const { operations } = await hooks.commit(tx)
  assertFitting(operations)
  const asked = { ...(form !== null && { form }), ...(failure !== null && { failure: { ...failure } }) }
  const detail = Object.keys(asked).length === 0 ? null : asked
  const question = { kind: 'call', call_id: callId, tool_name: row.name, detail } as const
  const isNew = await insertRequest(tx, { thread_id: threadId, id: callId, ...question, requested_at: now })
  const isAnswered = !isNew && (await takeEarlyAnswer(tx, { threadId, id: callId, now, detail }))
  const answer: PendingAnswer = {
    ...{ type: 'pending', requestId: callId, kind: 'call', status: 'waiting_input', next: 'complete' },
    ...(isAnswered && { answered: true }),
    ...(operations.length === 0 ? {} : { operations }),
  }
  await finish(tx, operation, { answer })
  await storeInPlace(tx, call.inPlace, row)
  await dropReports(tx, call)
  const payload = { requestId: callId, kind: 'call', toolName: row.name } as const
  await appendEvents(tx, { threadId, events: [fact('action.required', payload, scope)], now })
  return answer
}

interface Sending extends ToolRun {
  readonly remote: RemoteActivity
}

/**
 * Hands the call of a tool in another language to its worker, by the row that the worker claims
 * (`store/calls/remote-calls.ts`). The workflow then schedules the activity of that worker.
 * Nothing happens outside of the store before the other worker takes the call, so an interrupted first half runs again.
 * After that the rule of local tools applies: an idempotent call is tried again, any other call is `unknown` (T4).
 */
async function sendRemote(
  dependencies: ActivityDependencies,
  sending: Sending,
): Promise<RemoteAnswer | ResultAnswer> {
  const { store } = dependencies
  const { call, remote, timeout, hooks } = sending
  const { threadId, callId } = call.input
  const known = await describeCall(dependencies, sending)
  if (typeof known === 'string') return commitResult(store, call, failureResult(known, 'no_key'), { hooks })
  const answer: RemoteAnswer = { type: 'remote', ...remote, timeout }
  const { operation, now } = call
  return commit(store, operation, async (tx): Promise<RemoteAnswer | ResultAnswer> => {
    await finish(tx, operation, { answer })
    await insertRemoteCall(tx, { threadId, callId }, { call: known, now })
    return answer
  })
}

/** The data for the other worker, or the reason for the model if a secret cannot be sealed. */
async function describeCall(
  dependencies: ActivityDependencies,
  sending: Sending,
): Promise<RemoteCall | string> {
  const { tool, remote, timeout, args, call } = sending
  try {
    return {
      tool: call.row.name,
      taskQueue: remote.taskQueue,
      timeout,
      idempotent: tool.idempotent === true,
      // Parsed arguments may contain dates and the like, which become JSON again for HTTP.
      args: JSON.parse(JSON.stringify(args)) as JsonObject,
      variables: await variablesOf(dependencies, sending),
      traceparent: activeTraceparent(),
    }
  } catch (error) {
    if (StoreError.isInstance(error) && error.code === 'no_key') return error.message
    throw error
  }
}

async function variablesOf(
  dependencies: ActivityDependencies,
  { tool, input, content }: Sending,
): Promise<RemoteCall['variables']> {
  const { threadId, agent, callId } = input
  const names = (tool.variables ?? []).map(({ name }) => name)
  const scope = { threadId, agent, content, prompt: activePrompt(content, input).name }
  const resolved = await resolveVariables(dependencies, scope, names)
  const values = [...resolved].map(([name, { type, open }]) => {
    const value = open()
    const place = remoteSecretPlace({ threadId, callId }, name)
    const sealed = type === 'text' ? { value, keyId: null } : dependencies.store.secrets.seal(value, place)
    return [name, sealed] as const
  })
  return Object.fromEntries(values)
}
