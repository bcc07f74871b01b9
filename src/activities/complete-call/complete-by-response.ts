import { resultOperationId } from '../../protocol/ids.js'
import { parseArguments } from '../../definitions/tool-arguments.js'
import type { CompleteCallAnswer, CompleteCallInput } from '../../protocol/complete-call.js'
import { closeRequests, findRequest } from '../../store/pending.js'
import type { ToolCallRecord } from '../../store/tool-calls.js'
import type { ActivityDependencies } from '../dependencies.js'
import { beginCall } from '../execute-tool/begin-call.js'
import { failed } from '../execute-tool/call-result.js'
import { commitResult } from '../execute-tool/commit-result.js'
import { commitWithEffects } from '../execute-tool/commit-with-effects.js'
import { callHooks, openHookedCall } from '../execute-tool/call-hooks.js'
import { toCallResult } from '../execute-tool/to-call-result.js'
import { keptPlan, waitForDefinition } from '../plan-content.js'

/** The answer from outside is the result: looked at as the tool's own would have been, its files included. */
export async function completeByResponse(
  dependencies: ActivityDependencies,
  input: CompleteCallInput,
  requestId: string,
): Promise<CompleteCallAnswer> {
  const { store } = dependencies
  const content = await keptPlan(dependencies, input.plan)
  const lost = callHooks(dependencies, { input, content })
  const begun = await beginCall(store, input, {
    ...{ operationId: resultOperationId(input.callId), again: true, opens: false },
    response: { requestId },
  })
  if (begun.kind === 'answered') return begun.answer
  const { call } = begun
  const request = await store.read((db) => findRequest(db, input.threadId, requestId))
  // A bare update says that there is an answer, and anybody can send one (T10).
  if (request?.answer == null) {
    await store.write((tx) => closeRequests(tx, { threadId: input.threadId, callIds: [input.callId] }))
    const problem = failed('The call was answered without a result.', 'invalid_result')
    return commitResult(store, call, problem, { hooks: lost })
  }
  const args = argumentsOf(dependencies, call.row)
  const signal = new AbortController().signal
  // The first half of the call has made ids from the call's own.
  const calling = { input, content, originId: resultOperationId(input.callId) }
  const opened = await openHookedCall(dependencies, calling, signal)
  const result = await toCallResult(store, { call, ...opened, args, content, result: request.answer })
  return commitWithEffects(store, call, { result, hooks: opened.hooks })
}

/** As the tool had them; a session's payload may be mapped from them. */
function argumentsOf(
  { registry }: ActivityDependencies,
  { name, arguments: text }: ToolCallRecord,
): Record<string, unknown> {
  const tool = registry.tool(name)
  if (tool === undefined) waitForDefinition()
  const parsed = parseArguments(tool?.args, text)
  return parsed.ok ? parsed.args : {}
}
