import { toolPlan } from '../../definitions/build-plan.js'
import { namedTool } from '../../definitions/listed-tools.js'
import type { PlanContent, SubagentContent } from '../../definitions/plan-content.js'
import type { PrepareChildAnswer, PrepareChildInput } from '../../protocol/activities.js'
import { whileBeating } from '../beat.js'
import { commitHeld } from '../commit.js'
import type { ActivityDependencies } from '../dependencies.js'
import { activePrompt } from '../execute-tool/active-prompt.js'
import { beginCall } from '../execute-tool/begin-call.js'
import { callHooks } from '../execute-tool/call-hooks.js'
import { commitResult } from '../execute-tool/commit-result.js'
import { keptPlan } from '../plan-content.js'
import { randomUUID } from 'node:crypto'
import { childPlan } from './child-plan.js'
import { hookChild } from './hook-child.js'
import { writeChild } from './write-child.js'

/**
 * Writes everything of a child but its workflow: its row, files, first message and the parent's registry entry. Its id
 * is kept as the operation's answer, so that a retry or a reset finds the same child. A call that cannot be done gets an
 * error result.
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
    const binding = bindingOf(dependencies, { content, input, name: call.row.name })
    const plan = await childPlan(dependencies, call, { binding, input })
    if (plan.kind === 'refused') return commitResult(store, call, plan.result, { hooks })
    const ids = { reference: randomUUID(), messageId: randomUUID() }
    const { reference } = ids
    const hooked = await hookChild(dependencies, { input, content, reference, agent: plan.binding.agent })
    return commitHeld(store, { threadId: input.threadId, id: input.callId }, (tx) =>
      writeChild(tx, call, { ...plan, ids, hooked }),
    )
  })
}

interface Named {
  readonly content: PlanContent
  readonly input: PrepareChildInput
  readonly name: string
}

/** As the active prompt lists it; a tool that code has queued is listed by none, and the registry says what it is. */
function bindingOf({ registry }: ActivityDependencies, { content, input, name }: Named): SubagentContent {
  const { subagents } = activePrompt(content, input)
  const listed = Object.hasOwn(subagents, name) ? subagents[name] : undefined
  const named = listed === undefined && input.queued ? namedTool(registry, name) : undefined
  const planned = named === undefined ? undefined : toolPlan(named)
  const binding = planned?.kind === 'subagent' ? planned : listed
  if (binding === undefined) throw new Error(`The plan does not say how "${name}" becomes a child.`)
  return binding
}
