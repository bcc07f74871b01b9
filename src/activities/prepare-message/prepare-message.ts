import type { PrepareMessageAnswer, PrepareMessageInput } from '../../protocol/child-activities.js'
import { whileBeating } from '../beat.js'
import type { ActivityDependencies } from '../dependencies.js'
import { activePrompt } from '../execute-tool/active-prompt.js'
import { beginCall } from '../execute-tool/begin-call.js'
import type { HeldCall } from '../execute-tool/begin-call.js'
import { callHooks } from '../execute-tool/call-hooks.js'
import { failed } from '../execute-tool/call-result.js'
import { commitResult } from '../execute-tool/commit-result.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { keptPlan } from '../plan-content.js'
import { recordClosedChild } from '../record-closed-child.js'
import { messagePlan } from './message-plan.js'
import type { MessagePlan } from './message-plan.js'
import { writeMessage } from './write-message.js'

/**
 * `subagent_message`: puts a message for a subagent that stays into its store, files first, before its workflow hears of
 * it (T2). One that cannot be sent gets an error result; a subagent that is found closed is answered for (T7).
 */
export async function prepareMessage(
  dependencies: ActivityDependencies,
  input: PrepareMessageInput,
): Promise<PrepareMessageAnswer> {
  return whileBeating(async () => {
    const { store } = dependencies
    const content = await keptPlan(dependencies, input.plan)
    const hooks = callHooks(dependencies, { input, content })
    // Nothing outside the store is done here, so an attempt that was cut off is done again.
    const begun = await beginCall(store, input, { operationId: input.callId, again: true, opens: true })
    if (begun.kind === 'answered') return begun.answer
    const { call } = begun
    const plan = await messagePlan(dependencies, call, {
      input,
      content,
      prompt: activePrompt(content, input),
    })
    if (plan.kind === 'refused') return commitResult(store, call, plan.result, { hooks })
    if (plan.kind === 'closed') return foundClosed(dependencies, call, { plan, hooks })
    const answer = await writeMessage(store, call, plan)
    return 'content' in answer ? commitResult(store, call, answer, { hooks }) : answer
  })
}

/** The workflow of the thread takes it as it takes any close of a child. */
async function foundClosed(
  { store }: ActivityDependencies,
  call: HeldCall,
  {
    plan: { child, status },
    hooks,
  }: { readonly plan: Extract<MessagePlan, { readonly kind: 'closed' }>; readonly hooks: HookBatch },
): Promise<PrepareMessageAnswer> {
  const { reference } = child
  const { threadId } = call.input
  const reason = `The subagent is closed (${status}) and takes no messages. Start another one with subagent_create.`
  return commitResult(store, call, failed(reason, 'subagent_closed', { subagentId: reference }), {
    hooks,
    operations: [{ kind: 'child_closed', reference, status }],
    opening: async (tx) => {
      await recordClosedChild(tx, { threadId, reference, status, scope: call.scope, now: call.now })
      return []
    },
  })
}
