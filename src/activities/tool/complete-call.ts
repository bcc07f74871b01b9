import type { PlanContent } from '../../definitions/plan/plan-content.js'
import { parseArguments } from '../../definitions/plan/tool-arguments.js'
import type { CompleteCallAnswer, CompleteCallInput, Frame } from '../../protocol/activities.js'
import { modelOperationId, resultOperationId } from '../../protocol/ids.js'
import { CUT_OFF } from '../../protocol/message.js'
import {
  findRemoteCall,
  finishRemoteCall,
  forgetRemoteSecrets,
  isAnswered,
  openRemoteVariables,
  openResult,
} from '../../store/calls/remote-calls.js'
import type { RemoteAnswerRow, RemoteRecord, UnansweredRow } from '../../store/calls/remote-calls.js'
import { closeRequests, findRequest } from '../../store/calls/requests.js'
import { listNestedToolCalls } from '../../store/calls/tool-calls.js'
import type { ToolCallRecord } from '../../store/calls/tool-calls.js'
import { FileError } from '../../store/files/file-checks.js'
import { findMessage } from '../../store/messages/transcript.js'
import { findOperation } from '../../store/operations.js'
import type { Reader, Store, Writer } from '../../store/store.js'
import { findChild } from '../../store/threads/children.js'
import type { ChildRecord } from '../../store/threads/children.js'
import { activePrompt } from '../../definitions/plan/plan-content.js'
import { findSourceTool } from '../sources/source-tools.js'
import { withHeartbeats } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { loadPlan, waitForDefinition } from '../plan-content.js'
import { failureOfRequest, formProblem } from '../../policy/approval-detail.js'
import { microseconds } from '../scope.js'
import { resultOfChildren } from '../subagents/child-outcome.js'
import { nameOfChild } from '../subagents/report-text.js'
import { EMPTY_ANSWER_TOOL } from '../turn/answer-commit.js'
import { callHooks, openHookedCall } from './call-hooks.js'
import { failureResult, successResult, unknownResult } from './call-result.js'
import type { CallResult } from './call-result.js'
import { commitResult } from './commit-result.js'
import type { CompletedCall } from './commit-result.js'
import { frameReport, subpromptOf } from './frame-report.js'
import type { NestedCall } from './frame-report.js'
import { beginCall } from './held-call.js'
import type { HeldCall } from './held-call.js'
import { toCallResult } from './tool-result.js'

/**
 * The activity `completeCall`: the result of a call that did not end with its own activity. The result comes from the
 * call's children, its nested step, a worker in another language, or from outside.
 * Owns: the second half of such a call: its operation, the result for each kind of completion, and the close of the
 * remote row.
 * Does not own: the commit (`commit-result.ts`), and the decision that a call is complete, which the workflow makes.
 * The activity changes nothing outside of the store, so an interrupted attempt runs again (T4).
 */
export async function completeCall(
  dependencies: ActivityDependencies,
  input: CompleteCallInput,
): Promise<CompleteCallAnswer> {
  return withHeartbeats(async () => {
    const { store } = dependencies
    const content = await loadPlan(dependencies, input.plan)
    // The hooks come before the call begins: a wait for a missing hook must not leave the call `started`.
    const hooks = callHooks(dependencies, { input, content })
    const begun = await beginCall(store, input, {
      id: resultOperationId(input.callId),
      onInterrupted: 'rerun',
      charged: { dependencies, content },
      ...(await beginningOf(store, input)),
    })
    if (begun.kind === 'answered') return begun.answer
    const { call } = begun
    const { result, alongside } = await resultOf(dependencies, { input, content, call, hooks })
    return commitResult(store, call, result, alongside)
  })
}

async function beginningOf(
  store: Store,
  { threadId, callId, by }: CompleteCallInput,
): Promise<Pick<Parameters<typeof beginCall>[2], 'response' | 'resultId'>> {
  if (by.kind === 'response') return { response: { requestId: by.requestId } }
  if (by.kind !== 'frame') return {}
  // The rows of the frame already name this row as their parent.
  const outer = await store.read((db) => findOperation(db, threadId, callId))
  return { resultId: outer?.message_id ?? undefined }
}

interface Completing {
  readonly input: CompleteCallInput
  readonly content: PlanContent
  readonly call: HeldCall
  /** The hooks of a call that has no state of its own. */
  readonly hooks: HookBatch
}

async function resultOf(dependencies: ActivityDependencies, completing: Completing): Promise<CompletedCall> {
  const { store } = dependencies
  const { by } = completing.input
  switch (by.kind) {
    case 'children':
      return resultOfChildren(store, completing, by.reports)
    case 'sent':
      return resultOfSent(store, completing, by.references)
    case 'frame':
      return resultOfFrame(store, completing, by.frame)
    case 'remote':
      return resultOfRemote(dependencies, completing)
    case 'response':
      return resultOfResponse(dependencies, completing, by.requestId)
  }
}

/** The result of a call that does not wait for its children: it names them, and how their results arrive. */
async function resultOfSent(
  store: Store,
  { input, hooks }: Completing,
  references: readonly string[],
): Promise<CompletedCall> {
  const children: ChildRecord[] = []
  for (const reference of references) {
    const child = await store.read((db) => findChild(db, input.threadId, reference))
    if (child !== null) children.push(child)
  }
  const subagentId = references.length === 1 ? (references[0] ?? null) : null
  return { result: successResult(describeSent(children), { subagentId }), alongside: { hooks } }
}

function describeSent(children: readonly ChildRecord[]): string {
  const names = children.map((child) => `${nameOfChild(child)} (reference: ${child.reference})`)
  const [first] = children
  if (first === undefined || children.length > 1)
    return `${children.length} subagents work now; what they report comes as one message when all are done: ${names.join(', ')}.`
  const how =
    first.parent_communication === 'explicit'
      ? 'it sends a message when it has something to say'
      : 'its result comes as a message'
  return `The subagent ${names.join('')} works now; ${how}.`
}

/** The result of a call of a prompt tool, from the rows of its nested step. */
async function resultOfFrame(
  store: Store,
  { input, content, call, hooks }: Completing,
  frame: Frame,
): Promise<CompletedCall> {
  const step = await store.read((db) => readNestedStep(db, input, frame))
  const result = step.hasFailed
    ? failureResult(step.text, 'model_failed')
    : frameReport(subpromptOf(content, call, frame.prompt), step)
  return { result, alongside: { hooks, closes: input.callId } }
}

/** Reads the text of the step's answer, and its calls with their results. */
async function readNestedStep(
  db: Reader,
  { threadId, run, step }: CompleteCallInput,
  frame: Frame,
): Promise<Parameters<typeof frameReport>[1] & { readonly hasFailed: boolean }> {
  const operation = await findOperation(db, threadId, modelOperationId({ run, step, frame }))
  const answer = operation?.message_id == null ? null : await findMessage(db, threadId, operation.message_id)
  const made = await listNestedToolCalls(db, threadId, frame.callId)
  const calls: NestedCall[] = []
  // An empty answer has nothing to report, and a nested step has no further step that could correct it.
  for (const call of made) if (call.name !== EMPTY_ANSWER_TOOL) calls.push(await readNestedCall(db, call))
  // The text of a failed row gives the reason: no model answered, or a hook blocked the request.
  const hasFailed = answer?.status === 'failed'
  const { content = '', attachments = [], finish_reason = null } = answer ?? {}
  return { text: content ?? '', isCut: finish_reason === CUT_OFF, attachments, calls, hasFailed }
}

async function readNestedCall(db: Reader, call: ToolCallRecord): Promise<NestedCall> {
  const { thread_id: threadId, name, arguments: args, result_message_id: id } = call
  const result = id === null ? null : await findMessage(db, threadId, id)
  const { content, attachments } = result ?? { content: null, attachments: [] }
  return { name, args, succeeded: call.status === 'succeeded', content: content ?? '', attachments }
}

/** The answer from outside is the result. It is validated as the tool's own answer would be, files included. */
async function resultOfResponse(
  dependencies: ActivityDependencies,
  { input, content, call, hooks }: Completing,
  requestId: string,
): Promise<CompletedCall> {
  const { store } = dependencies
  const { threadId, callId } = input
  const request = await store.read((db) => findRequest(db, threadId, requestId))
  // A bare update only claims that an answer exists, and anybody can send such an update (T10).
  if (request?.answer == null) {
    await store.write((tx) => closeRequests(tx, { threadId, callIds: [callId] }))
    return {
      result: failureResult('The call was answered without a result.', 'invalid_result'),
      alongside: { hooks },
    }
  }
  const misfit = formProblem(request, request.answer)
  // An answer that came before the call asked was not checked.
  if (misfit !== undefined)
    return {
      result: failureResult(`The answer does not fit: ${misfit}`, 'invalid_result'),
      alongside: { hooks },
    }
  const args = await argumentsOf(dependencies, { input, content, row: call.row })
  const signal = new AbortController().signal
  // The first half of the call has used the ids that derive from the call's id.
  const calling = { input, content, originId: call.operation.id }
  const opened = await openHookedCall(dependencies, calling, signal)
  const failure = failureOfRequest(request)
  const result = await toCallResult(store, {
    call,
    ...opened,
    args,
    content,
    failure,
    result: request.answer,
  })
  return { result, alongside: { hooks: opened.hooks, isStateOfCall: true } }
}

/** The parsed arguments of the tool: the payload of a session may be mapped from them. */
async function argumentsOf(
  dependencies: ActivityDependencies,
  { input, content, row }: Pick<Completing, 'input' | 'content'> & { readonly row: ToolCallRecord },
): Promise<Record<string, unknown>> {
  const { name, arguments: text } = row
  const listed = { prompt: activePrompt(content, input), name }
  const tool = dependencies.registry.tool(name) ?? (await findSourceTool(dependencies, input, listed))?.tool
  if (tool === undefined) waitForDefinition()
  const parsed = parseArguments(tool?.args, text)
  return parsed.ok ? parsed.args : {}
}

/** The result of a call that the other worker has finished or abandoned. From now on the row accepts no answer. */
async function resultOfRemote(
  dependencies: ActivityDependencies,
  { input, content, call, hooks }: Completing,
): Promise<CompletedCall> {
  const { store } = dependencies
  const remote = await closeRemote(store, input)
  const { threadId, callId } = input
  const ending = (tx: Writer) => forgetRemoteSecrets(tx, { threadId, callIds: [callId] })
  if (!isAnswered(remote)) return { result: resultWithoutAnswer(remote), alongside: { hooks, ending } }
  const opened = await openHookedCall(
    dependencies,
    { input, content, originId: call.operation.id },
    new AbortController().signal,
  )
  // The secrets come first: both files and text come from the other worker and need redaction.
  noteSecrets(store, { call, remote, state: opened.state })
  const problem = await placeFiles(opened.state, remote)
  if (problem !== null)
    return { result: failureResult(problem, 'invalid_file'), alongside: { hooks, ending } }
  const answered = readAnswer(store, { call, remote, state: opened.state })
  const result = await toCallResult(store, { call, ...opened, args: remote.args, content, result: answered })
  return { result, alongside: { hooks: opened.hooks, isStateOfCall: true, ending } }
}

type State = Awaited<ReturnType<typeof openHookedCall>>['state']

interface Answered {
  readonly call: HeldCall
  readonly remote: RemoteRecord & { readonly answer: RemoteAnswerRow }
  readonly state: State
}

/** T5: the answer of the worker is redacted by the secrets that the worker got. */
function noteSecrets(store: Store, { call, remote, state }: Answered): void {
  for (const { name, value, secret } of openRemoteVariables(store.secrets, call.input, remote))
    if (secret) state.redactor.note(name, value)
}

function readAnswer(store: Store, { call, remote, state }: Answered): unknown {
  const { threadId, callId } = call.input
  const key = { threadId, callId }
  const { result } = remote.answer
  if (result === null) throw new Error(`Expected the call ${callId} to wait for its end, but it has ended.`)
  return state.redactor.redactJson(openResult(store.secrets, key, result))
}

/** T9: the files of the call get their paths with its result. Returns the reason if a file cannot have its path. */
async function placeFiles(state: State, { files }: RemoteRecord): Promise<string | null> {
  const { redact } = state.redactor
  try {
    for (const [path, { digest, size, mimeType }] of Object.entries(files))
      await state.place(redact(path), {
        ...{ blob: digest, size, mimeType: redact(mimeType) },
        ...{ width: null, height: null, metadata: null },
      })
    return null
  } catch (error) {
    if (FileError.isInstance(error)) return error.message
    throw error
  }
}

/** T4: a closed row refuses a later answer, so that the result that the model reads stays true. */
async function closeRemote(store: Store, input: CompleteCallInput): Promise<RemoteRecord> {
  const { threadId, callId } = input
  return store.write(async (tx) => {
    const record = await findRemoteCall(tx, { threadId, callId })
    if (record === null) throw new Error(`Expected a row of the remote call ${callId}, found none.`)
    if (record.state === 'finished') return record
    const answer: UnansweredRow = { type: 'unanswered', taken: record.state === 'started' }
    await finishRemoteCall(tx, { threadId, callId }, { record, answer, now: microseconds(input) })
    return { ...record, state: 'finished', answer }
  })
}

function resultWithoutAnswer({ answer, idempotent, attempt, tool, taskQueue }: RemoteRecord): CallResult {
  const isTaken = answer !== null && 'taken' in answer && answer.taken === true
  if (!isTaken)
    return failureResult(
      `No worker of task queue "${taskQueue}" took the call of "${tool}", so nothing has happened.`,
      'not_taken',
    )
  if (!idempotent) return unknownResult()
  return failureResult(`The tool "${tool}" was started ${attempt} times and did not answer.`, 'no_answer')
}
