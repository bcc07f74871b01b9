import type { RemoteActivity, ToolDefinition } from '../../definitions/tool.js'
import type { PlanContent } from '../../definitions/plan-content.js'
import type { ResultAnswer } from '../../protocol/activities.js'
import type { JsonObject } from '../../protocol/json.js'
import type { RemoteAnswer } from '../../protocol/remote-call.js'
import { finishOperation } from '../../store/operations.js'
import { insertRemoteCall } from '../../store/remote-calls.js'
import type { RemoteCall } from '../../store/remote-calls.js'
import { remoteSecretPlace } from '../../store/remote-variables.js'
import { StoreError } from '../../store/store-error.js'
import { activeTraceparent } from '../../telemetry/traceparent.js'
import { OperationLost, commitHeld } from '../commit.js'
import type { ActivityDependencies } from '../dependencies.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { resolveVariables } from '../variables/resolve-variables.js'
import { activePrompt } from './active-prompt.js'
import type { HeldCall } from './begin-call.js'
import { failed } from './call-result.js'
import { commitResult } from './commit-result.js'
import type { FunctionCall } from './execute-function.js'

interface Sending extends Pick<FunctionCall, 'input' | 'timeout'> {
  readonly call: HeldCall
  readonly tool: ToolDefinition
  readonly remote: RemoteActivity
  readonly args: Record<string, unknown>
  readonly content: PlanContent
  readonly hooks: HookBatch
}

/**
 * The first half of a call whose code is in another language: what its worker may know is written down, then the workflow
 * schedules that worker's activity. Nothing has happened outside of the store, so an attempt that was cut off is made again.
 */
export async function sendRemote(
  dependencies: ActivityDependencies,
  sending: Sending,
): Promise<RemoteAnswer | ResultAnswer> {
  const { store } = dependencies
  const { call, remote, timeout, hooks } = sending
  const { threadId, callId } = call.input
  const known = await knownToWorker(dependencies, sending)
  if (typeof known === 'string') return commitResult(store, call, failed(known, 'no_key'), { hooks })
  const answer: RemoteAnswer = { type: 'remote', ...remote, timeout }
  const { operationId: id, attempt, now } = call
  return commitHeld(store, { threadId, id }, async (tx): Promise<RemoteAnswer | ResultAnswer> => {
    if (!(await finishOperation(tx, { threadId, id, attempt, answer, now }))) throw new OperationLost()
    await insertRemoteCall(tx, { threadId, callId }, { call: known, now })
    return answer
  })
}

/** A sentence where a secret cannot be sealed. */
async function knownToWorker(
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
      // What a schema makes of JSON may be dates and the like: what goes over HTTP is JSON again.
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
