import type { PlanContent } from '../../definitions/plan/plan-content.js'
import type { RemoteActivity, ToolDefinition } from '../../definitions/tool.js'
import type {
  CompleteCallInput,
  ExecuteToolInput,
  RemoteAnswer,
  ResultAnswer,
} from '../../protocol/activities.js'
import type { JsonObject } from '../../protocol/values.js'
import {
  findRemoteCall,
  finishRemoteCall,
  insertRemoteCall,
  isAnswered,
  forgetRemoteSecrets,
  openRemoteVariables,
  openResult,
  remoteSecretPlace,
} from '../../store/calls/remote-calls.js'
import type {
  RemoteAnswerRow,
  RemoteCall,
  RemoteRecord,
  UnansweredRow,
} from '../../store/calls/remote-calls.js'
import { FileError } from '../../store/files/file-checks.js'
import { StoreError } from '../../store/store-error.js'
import type { Store, Writer } from '../../store/store.js'
import { activeTraceparent } from '../../telemetry/spans.js'
import type { ActivityDependencies } from '../activity.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { commit, finish } from '../operation.js'
import { microseconds } from '../scope.js'
import { resolveVariables } from '../variables/variables.js'
import { activePrompt } from '../plan-content.js'
import { openHookedCall } from './call-hooks.js'
import { failureResult, unknownResult } from './call-result.js'
import type { CallResult } from './call-result.js'
import { commitResult } from './commit-result.js'
import type { CompletedCall } from './commit-result.js'
import type { HeldCall } from './held-call.js'
import { toCallResult } from './tool-result.js'

interface Sending {
  readonly input: ExecuteToolInput
  /** Milliseconds for the other worker. */
  readonly timeout: number
  readonly call: HeldCall
  readonly tool: ToolDefinition
  readonly remote: RemoteActivity
  readonly args: Record<string, unknown>
  readonly content: PlanContent
  readonly hooks: HookBatch
}

/**
 * Calls of tools in other languages: the first half hands the call to the other worker, the second half takes its answer.
 * Owns: the data that the other worker gets, the close of the remote row, and the result of a call without an answer.
 * Does not own: the protocol of that worker (`store/calls/remote-calls.ts`, the HTTP routes), and the activity that the
 * workflow schedules for it.
 * Nothing happens outside of the store before the other worker takes the call, so an interrupted first half runs again.
 * After that the rule of local tools applies: an idempotent call is tried again, any other call is `unknown` (T4).
 */
export async function sendRemote(
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

interface Returned {
  readonly input: CompleteCallInput
  readonly content: PlanContent
  readonly call: HeldCall
  /** The hooks for a call whose state is dropped. */
  readonly hooks: HookBatch
}

/** The result of a call that the other worker has finished or abandoned. From now on the row accepts no answer. */
export async function resultOfRemote(
  dependencies: ActivityDependencies,
  { input, content, call, hooks }: Returned,
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
  const answered = resultOf(store, { call, remote, state: opened.state })
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

function resultOf(store: Store, { call, remote, state }: Answered): unknown {
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
