import type { PlanContent } from '../../definitions/plan/plan-content.js'
import type { CallInput } from '../../protocol/activities.js'
import type { ActivityDependencies } from '../activity.js'
import { createHookBatch } from '../hooks/hook-batch.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { messageHooks } from '../hooks/message-hooks.js'
import { stepBatch } from '../hooks/step-batch.js'
import { callScope, microseconds } from '../scope.js'
import { openCallState } from '../thread-state/buffered-state.js'
import type { BufferedState, InvokeTool } from '../thread-state/buffered-state.js'
import { activePrompt } from '../../definitions/plan/plan-content.js'

interface Calling {
  readonly input: CallInput
  readonly content: PlanContent
}

/**
 * The hooks around a call that has no state of its own, or whose state is dropped. They are created before the call
 * begins, because a wait for a missing hook must not leave the call `started`.
 * @throws `Definition.Missing` while another worker may still have a hook that this worker lacks
 */
export function callHooks(dependencies: ActivityDependencies, { input, content }: Calling): HookBatch {
  const prompt = activePrompt(content, input)
  return stepBatch(dependencies, {
    ...{ input, content, ids: prompt.hooks, sideSteps: input.sideSteps, recordsMissing: true },
    deciding: prompt.deciding,
    promptPath: input.promptPath.length === 0 ? [prompt.name] : input.promptPath,
    name: `result_${input.callId}`,
    scope: callScope(input),
  })
}

interface HookedCall {
  readonly state: BufferedState
  /** The hooks read the writes of the call and are committed with them. */
  readonly hooks: HookBatch
}

/** Opens the state for a call's own code, with the hooks that share it. */
export async function openHookedCall(
  dependencies: ActivityDependencies,
  {
    input,
    content,
    invokeTool,
    originId,
  }: Calling & { readonly invokeTool?: InvokeTool; readonly originId?: string },
  abortSignal: AbortSignal,
): Promise<HookedCall> {
  const { hooks: ids, deciding } = activePrompt(content, input)
  const hooks = createHookBatch({
    ...{ registry: dependencies.registry, threadId: input.threadId, recordsMissing: true },
    ...{ ids, deciding },
    scope: callScope(input),
    now: microseconds(input),
    open: () => openCallState(dependencies, calling, abortSignal),
  })
  const hooked = messageHooks(hooks)
  const calling = {
    ...{ input, content },
    ...(invokeTool === undefined ? {} : { invokeTool }),
    ...(originId === undefined ? {} : { originId }),
    ...(hooked === undefined ? {} : { messageHooks: hooked }),
  }
  return { state: await hooks.state(), hooks }
}
