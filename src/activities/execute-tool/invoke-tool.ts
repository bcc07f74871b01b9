import type { PlanContent } from '../../definitions/plan-content.js'
import type { Usage } from '../../protocol/activities.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Side } from '../../protocol/plan.js'
import { addUsage } from '../call-model/usage.js'
import type { ActivityDependencies } from '../dependencies.js'
import type { InvokeTool } from '../thread-state/buffered-thread-state.js'
import { invokePrompt } from './invoke-prompt.js'
import { createNamedCalls, refused } from './named-call.js'
import type { InPlace } from './named-call.js'

/** A tool call or a hook that calls tools in place. */
export interface InvokingCall extends InPlace {
  readonly side: Side
  /** Null where no worker has the agent. */
  readonly content: PlanContent | null
}

export interface Invoker {
  /** What is wrong with the call is an error result, never a throw. */
  readonly invoke: InvokeTool
  /** Of the models that were asked; null: none was. */
  readonly usage: () => Usage | null
}

/** Runs functions and prompts in place. */
export function createInvoker(dependencies: ActivityDependencies, caller: InvokingCall): Invoker {
  let usage: Usage | null = null
  const call = createNamedCalls({
    registry: dependencies.registry,
    caller,
    async runPrompt(prompt, text, place, depth) {
      if (depth >= LIMITS.frameDepth) return refused(`Prompts are called ${depth} deep here.`, 'too_deep')
      const answer = await invokePrompt(dependencies, {
        ...{ caller, state: place.state, prompt, text },
        callTool: (tool, args) => call(tool, args, place, depth + 1),
      })
      if (answer.usage !== null) usage = addUsage(usage, answer.usage)
      return answer.result
    },
  })
  return { invoke: (name, args, place) => call(name, args, place), usage: () => usage }
}
