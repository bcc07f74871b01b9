import type { PlanContent } from '../../definitions/plan-content.js'
import type { CallInput } from '../../protocol/activities.js'
import { runIdOf } from '../../protocol/ids.js'
import type { ActivityDependencies } from '../dependencies.js'
import { openBufferedState } from '../thread-state/buffered-thread-state.js'
import type { BufferedState, InvokeTool } from '../thread-state/buffered-thread-state.js'
import type { MessageHooks } from '../thread-state/message-hooks.js'
import { activePrompt } from './active-prompt.js'

interface Calling {
  readonly input: CallInput
  readonly content: PlanContent
  /** Left out where nothing can be invoked: in a check before the call. */
  readonly invokeTool?: InvokeTool
  readonly messageHooks?: MessageHooks
  /** Ids of what is written are made from it. @default the call's id */
  readonly originId?: string
}

/** The thread as the code of a call sees it. */
export function openCallState(
  dependencies: ActivityDependencies,
  { input, content, invokeTool, messageHooks, originId = input.callId }: Calling,
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
