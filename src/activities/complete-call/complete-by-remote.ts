import type { CompleteCallAnswer, CompleteCallInput } from '../../protocol/complete-call.js'
import { resultOperationId } from '../../protocol/ids.js'
import { FileError } from '../../store/file-error.js'
import { findRemoteCall, finishRemoteCall, isAnswered } from '../../store/remote-calls.js'
import type { RemoteAnswerRow, RemoteRecord, UnansweredRow } from '../../store/remote-calls.js'
import { forgetRemoteSecrets } from '../../store/remote-secrets.js'
import { openRemoteVariables, openResult } from '../../store/remote-variables.js'
import type { Store, Writer } from '../../store/store.js'
import { microseconds } from '../call-model/model-step.js'
import type { ActivityDependencies } from '../dependencies.js'
import { beginCall } from '../execute-tool/begin-call.js'
import type { HeldCall } from '../execute-tool/begin-call.js'
import { callHooks, openHookedCall } from '../execute-tool/call-hooks.js'
import { failed, unknown } from '../execute-tool/call-result.js'
import type { CallResult } from '../execute-tool/call-result.js'
import { commitResult } from '../execute-tool/commit-result.js'
import { commitWithEffects } from '../execute-tool/commit-with-effects.js'
import { toCallResult } from '../execute-tool/to-call-result.js'
import { keptPlan } from '../plan-content.js'

/** The other worker is done with the call, or has left it: from here on its row takes no answer any more. */
export async function completeByRemote(
  dependencies: ActivityDependencies,
  input: CompleteCallInput,
): Promise<CompleteCallAnswer> {
  const { store } = dependencies
  const content = await keptPlan(dependencies, input.plan)
  const lost = callHooks(dependencies, { input, content })
  const operationId = resultOperationId(input.callId)
  const begun = await beginCall(store, input, { operationId, again: true, opens: false })
  if (begun.kind === 'answered') return begun.answer
  const { call } = begun
  const remote = await closedRemote(store, input)
  const { threadId, callId } = input
  const ending = (tx: Writer) => forgetRemoteSecrets(tx, { threadId, callIds: [callId] })
  if (!isAnswered(remote)) return commitResult(store, call, withoutAnswer(remote), { hooks: lost, ending })
  const opened = await openHookedCall(
    dependencies,
    { input, content, originId: operationId },
    new AbortController().signal,
  )
  // First of all: what is placed and what is said are both the worker's words.
  noteSecrets(store, { call, remote, state: opened.state })
  const placed = await placeFiles(opened.state, remote)
  if (placed !== null)
    return commitResult(store, call, failed(placed, 'invalid_file'), { hooks: lost, ending })
  const result = resultOf(store, { call, remote, state: opened.state })
  const made = await toCallResult(store, { call, ...opened, args: remote.args, content, result })
  return commitWithEffects(store, call, { result: made, hooks: opened.hooks, ending })
}

type State = Awaited<ReturnType<typeof openHookedCall>>['state']

interface Answered {
  readonly call: HeldCall
  readonly remote: RemoteRecord & { readonly answer: RemoteAnswerRow }
  readonly state: State
}

/** T5: what the worker was given as a secret does not come back in its words. */
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

/** T9: what the call has written comes with its result. A sentence on what cannot be. */
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

/** T4: an answer that comes later is refused, so that what the model reads stays true. */
async function closedRemote(store: Store, input: CompleteCallInput): Promise<RemoteRecord> {
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

function withoutAnswer({ answer, idempotent, attempt, tool, taskQueue }: RemoteRecord): CallResult {
  const isTaken = answer !== null && 'taken' in answer && answer.taken === true
  if (!isTaken)
    return failed(
      `No worker of task queue "${taskQueue}" took the call of "${tool}", so nothing has happened.`,
      'not_taken',
    )
  if (!idempotent) return unknown()
  return failed(`The tool "${tool}" was started ${attempt} times and did not answer.`, 'no_answer')
}
