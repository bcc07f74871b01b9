import type { PlanContent } from '../../definitions/plan-content.js'
import type { CallInput } from '../../protocol/activities.js'
import type { ActivityDependencies } from '../dependencies.js'
import { createHookBatch } from '../hooks/hook-batch.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { messageHooks } from '../hooks/message-hooks.js'
import { stepBatch } from '../hooks/step-batch.js'
import type { BufferedState, InvokeTool } from '../thread-state/buffered-thread-state.js'
import { activePrompt } from './active-prompt.js'
import { callScope } from './held-input.js'
import { openCallState } from './open-call-state.js'

interface Calling {
  readonly input: CallInput
  readonly content: PlanContent
}

/**
 * The hooks around a call that has no state of its own, or has lost it. To be made before the call begins: a hook that
 * has to be waited for must not leave it `started`.
 * @throws `Definition.Missing` while a hook that this worker lacks is waited for
 */
export function callHooks(dependencies: ActivityDependencies, { input, content }: Calling): HookBatch {
  const prompt = activePrompt(content, input)
  return stepBatch(dependencies, {
    ...{ input, content, ids: prompt.hooks, sideSteps: input.sideSteps, recordsMissing: true },
    promptPath: input.promptPath.length === 0 ? [prompt.name] : input.promptPath,
    name: `result_${input.callId}`,
    scope: callScope(input),
  })
}

interface HookedCall {
  readonly state: BufferedState
  /** They see what the call wrote, and are committed with it. */
  readonly hooks: HookBatch
}

/** The state of a call's own code, with the hooks that share it. */
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
  const hooks = createHookBatch({
    ...{ registry: dependencies.registry, threadId: input.threadId, recordsMissing: true },
    ids: activePrompt(content, input).hooks,
    scope: callScope(input),
    now: input.now * 1000,
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
