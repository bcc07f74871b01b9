/**
 * One tool call, phases 5 and 6: a committed `started` row precedes the call, and the outcome is committed with
 * everything that the call did to its thread (T2, T9). A call that was started and has no outcome is `unknown`, unless
 * its tool is idempotent (T4). Nothing that a tool does fails the activity.
 */
import type { ExecuteToolAnswer, ExecuteToolInput } from '../../protocol/activities.js'
import { whileBeating } from '../beat.js'
import type { ActivityDependencies } from '../dependencies.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { keptPlan } from '../plan-content.js'
import { answerKind } from './answer-kind.js'
import { beginCall } from './begin-call.js'
import { callSubject } from './call-subject.js'
import { callHooks } from './call-hooks.js'
import type { CallResult } from './call-result.js'
import { commitResult } from './commit-result.js'
import { executeFunction } from './execute-function.js'
import { handOff } from './hand-off.js'
import { lookAtCall } from './look-at-call.js'
import { skipMissing } from './skip-missing.js'
import { unknownTool } from './unknown-tool.js'

export async function executeTool(
  dependencies: ActivityDependencies,
  input: ExecuteToolInput,
): Promise<ExecuteToolAnswer> {
  return whileBeating(async (signal) => {
    const { store } = dependencies
    const seen = await lookAtCall(store, input)
    if (seen.kind === 'answered') return seen.answer
    if (seen.kind === 'missing') return skipMissing(store, input)
    const { row, operation } = seen
    const content = await keptPlan(dependencies, input.plan)
    const subject = callSubject(dependencies, { content, input, row })
    // Before the call begins: a hook that is waited for must not leave it started.
    const hooks = callHooks(dependencies, { input, content })
    const calling = { input, row, content, signal, hooks }
    switch (subject.kind) {
      case 'function':
        return executeFunction(dependencies, { ...calling, ...subject, operation })
      case 'hand_off':
        return handOff(dependencies, input, { binding: subject.binding, hooks })
      case 'elsewhere':
        return answerKind(store, input, subject.tool)
      case 'refused':
        return refuse(dependencies, input, { result: subject.result, hooks })
      case 'unknown': {
        const result = await unknownTool(dependencies, { content, input, name: row.name })
        return refuse(dependencies, input, { result, hooks })
      }
    }
  })
}

async function refuse(
  { store }: ActivityDependencies,
  input: ExecuteToolInput,
  { result, hooks }: { readonly result: CallResult; readonly hooks: HookBatch },
): Promise<ExecuteToolAnswer> {
  const { response } = input
  // Nothing outside the store is done, so an attempt that was cut off is done again.
  const begun = await beginCall(store, input, {
    operationId: input.callId,
    again: true,
    opens: true,
    response,
  })
  return begun.kind === 'answered' ? begun.answer : commitResult(store, begun.call, result, { hooks })
}
