import type { PlanContent } from '../../definitions/plan-content.js'
import { parseToolArguments } from '../../definitions/tool-arguments.js'
import type { ToolDefinition } from '../../definitions/tool.js'
import type { ExecuteToolAnswer, ExecuteToolInput } from '../../protocol/activities.js'
import { callHolder } from '../../store/call-holder.js'
import type { OperationRecord } from '../../store/operations.js'
import type { Store } from '../../store/store.js'
import type { ToolCallRecord } from '../../store/tool-calls.js'
import { microseconds } from '../call-model/model-step.js'
import type { ActivityDependencies } from '../dependencies.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { permissionOf } from './approval.js'
import type { Permission } from './approval.js'
import { askApproval } from './ask-approval.js'
import { beginCall } from './begin-call.js'
import { callScope, phaseFive } from './held-input.js'
import { denied, endedFromOutside, failed, unknown } from './call-result.js'
import { commitResult } from './commit-result.js'
import { needsApproval } from './needs-approval.js'
import { resolveRequest } from './resolve-request.js'
import { sendRemote } from './send-remote.js'
import { runTool } from './run-tool.js'

export interface FunctionCall {
  readonly input: ExecuteToolInput
  readonly row: ToolCallRecord
  /** As it was found; null: nobody has touched the call yet. */
  readonly operation: OperationRecord | null
  readonly content: PlanContent
  readonly tool: ToolDefinition
  /** Milliseconds, over all of its tries. */
  readonly timeout: number
  readonly signal: AbortSignal
  readonly hooks: HookBatch
}

/** A tool's own code, after whoever has to has allowed it. */
export async function executeFunction(
  dependencies: ActivityDependencies,
  calling: FunctionCall,
): Promise<ExecuteToolAnswer> {
  const { store } = dependencies
  const { input, row, tool, hooks } = calling
  const parsed = parseToolArguments(tool, row.arguments)
  const held = parsed.ok ? await heldUp(dependencies, calling, parsed.args) : null
  if (held !== null) return held
  const { remote } = tool
  const isEnded = input.failed === true && remote === undefined
  // What is only sent elsewhere has not happened yet: whether it may be repeated is asked there.
  const again = (tool.idempotent === true && !isEnded) || remote !== undefined
  const { response } = input
  const begun = await beginCall(store, input, { operationId: input.callId, again, opens: true, response })
  if (begun.kind === 'answered') return begun.answer
  const { call } = begun
  if (begun.kind === 'cut_off')
    return commitResult(store, call, isEnded ? endedFromOutside(true) : unknown(), { hooks })
  if (!parsed.ok) return commitResult(store, call, failed(parsed.problem, 'invalid_arguments'), { hooks })
  if (isEnded) return commitResult(store, call, endedFromOutside(false), { hooks })
  if (remote !== undefined) return sendRemote(dependencies, { ...calling, call, remote, args: parsed.args })
  return runTool(dependencies, { ...calling, call, args: parsed.args })
}

/** What comes instead of running it, if it must not run yet, or at all. */
async function heldUp(
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
      // Its code is not run, so nobody is asked.
      if (input.failed === true) return null
      const verdict = await needsApproval(dependencies, calling, args)
      return verdict.asks ? askApproval(store, input, { asked: 0, problem: verdict.problem }) : null
    }
  }
}

/** One transaction: a call that nobody allowed never begins. */
async function commitDenial(
  store: Store,
  { input, row, hooks }: FunctionCall,
  { attempt, reason }: Extract<Permission, { readonly kind: 'denied' }>,
): Promise<ExecuteToolAnswer> {
  const holder = await store.read((db) => callHolder(db, row))
  const { callId, response } = input
  const call = {
    ...{ input, row, holder, attempt, asked: 0, operationId: callId, resultId: null },
    scope: callScope(input),
    now: microseconds(input),
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
