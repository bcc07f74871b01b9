import type { PrepareChildAnswer, PrepareChildInput } from '../../protocol/child-activities.js'
import { whileBeating } from '../beat.js'
import type { ActivityDependencies } from '../dependencies.js'
import { activePrompt } from '../execute-tool/active-prompt.js'
import { beginCall } from '../execute-tool/begin-call.js'
import { callHooks } from '../execute-tool/call-hooks.js'
import { failed } from '../execute-tool/call-result.js'
import { commitResult } from '../execute-tool/commit-result.js'
import { keptPlan } from '../plan-content.js'
import { childPlan } from './child-plan.js'
import { deferChildren } from './defer-children.js'
import { InstanceCapReached } from './instance-cap.js'
import { newChildren } from './new-child.js'
import { startChildren } from './start-children.js'

/**
 * Writes everything of one child, or of those that a call starts in one go, but their workflows: rows, files, first
 * messages and the parent's registry entries. Their ids are kept as the operation's answer, so that a retry or a reset
 * finds the same children. A call that cannot be done gets an error result; so does one whose children lack variables,
 * which start once these are supplied.
 */
export async function prepareChild(
  dependencies: ActivityDependencies,
  input: PrepareChildInput,
): Promise<PrepareChildAnswer> {
  return whileBeating(async () => {
    const { store } = dependencies
    const content = await keptPlan(dependencies, input.plan)
    // Nothing outside the store is done here, so an attempt that was cut off is done again.
    const beginning = { operationId: input.callId, again: true, opens: true }
    const hooks = callHooks(dependencies, { input, content })
    const begun = await beginCall(store, input, beginning)
    if (begun.kind === 'answered') return begun.answer
    const { call } = begun
    const asking = { input, content, prompt: activePrompt(content, input) }
    const plan = await childPlan(dependencies, call, asking)
    if (plan.kind === 'refused') return commitResult(store, call, plan.result, { hooks })
    const made = await newChildren(dependencies, asking, plan)
    try {
      if (plan.variables.missing.length === 0) return await startChildren(store, call, { plan, made })
      return await deferChildren(store, call, { plan, made, hooks })
    } catch (error) {
      if (!(error instanceof InstanceCapReached)) throw error
      // The hooks of the attempt that was rolled back have had their result.
      const again = callHooks(dependencies, { input, content })
      return commitResult(store, call, failed(error.message, 'max_instances'), { hooks: again })
    }
  })
}
