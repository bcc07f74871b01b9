import type { PlanContent, PromptContent } from '../../definitions/plan/plan-content.js'
import type { CallInput } from '../../protocol/activities.js'
import { runIdOf } from '../../protocol/ids.js'
import type { ActivityDependencies } from '../activity.js'
import { createHookBatch } from '../hooks/hook-batch.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { messageHooks } from '../hooks/message-hooks.js'
import { stepBatch } from '../hooks/step-batch.js'
import { promptOf } from '../plan-content.js'
import { callScope, microseconds } from '../scope.js'
import { openBufferedState } from '../thread-state/buffered-state.js'
import type { BufferedState, InvokeTool } from '../thread-state/buffered-state.js'
import type { MessageHooks } from '../thread-state/messages.js'

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
  const hooks = createHookBatch({
    ...{ registry: dependencies.registry, threadId: input.threadId, recordsMissing: true },
    ids: activePrompt(content, input).hooks,
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

interface OpeningState {
  readonly input: CallInput
  readonly content: PlanContent
  /** Absent where no tool can be invoked, as in a check before the call. */
  readonly invokeTool?: InvokeTool
  readonly messageHooks?: MessageHooks
  /** The ids of the code's writes derive from it. @default the call's id */
  readonly originId?: string
}

/** Opens the thread's state for the code of a call. */
export function openCallState(
  dependencies: ActivityDependencies,
  { input, content, invokeTool, messageHooks, originId = input.callId }: OpeningState,
  abortSignal: AbortSignal,
): Promise<BufferedState> {
  const { threadId, agent, now, run, step, side, sideSteps, promptPath } = input
  const path = promptPath.length === 0 ? [activePrompt(content, input).name] : promptPath
  return openBufferedState({
    ...{ dependencies, threadId, agent, now, content },
    origin: { kind: 'call', id: originId, run, step, side },
    ...(invokeTool === undefined ? {} : { invokeTool }),
    ...(messageHooks === undefined ? {} : { messageHooks }),
    execution: {
      flowId: runIdOf(run),
      currentSide: side,
      promptPath: path,
      stepCount: step,
      sideAStepCount: sideSteps.a,
      sideBStepCount: sideSteps.b,
      abortSignal,
    },
  })
}

/** The prompt whose answer contains the call: the last prompt of its path, else the prompt of its side. */
export function activePrompt(
  content: PlanContent,
  { side, promptPath }: Pick<CallInput, 'side' | 'promptPath'>,
): PromptContent & { readonly name: string } {
  const name = promptPath.at(-1)
  const prompt =
    name !== undefined && Object.hasOwn(content.prompts, name) ? content.prompts[name] : undefined
  return name === undefined || prompt === undefined ? promptOf(content, side) : { ...prompt, name }
}
