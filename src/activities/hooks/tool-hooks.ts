import type { HookedCall } from '../../definitions/hook.js'
import type { ToolResult } from '../../definitions/tool.js'
import type { HookBatch } from './hook-batch.js'
import { InvalidAnswer } from './hook-failure.js'

/** What hooks make of a tool call's result, in this order. */
export interface ToolHooks {
  /** After a success or a failure, as it was; null erases the call and its result from the transcript. */
  afterCall(result: ToolResult): Promise<ToolResult | null>
  /** Right before it becomes a row. */
  beforeStore(result: ToolResult): Promise<ToolResult>
}

interface Hooked {
  readonly call: HookedCall
  /** What is wrong with a result, in words, or null. */
  readonly problemOf: (result: unknown) => string | null
}

export function toolHooks(batch: HookBatch, { call, problemOf }: Hooked): ToolHooks {
  function accept(answer: unknown): ToolResult | undefined {
    if (answer === undefined || answer === null) return undefined
    const problem = problemOf(answer)
    if (problem !== null) throw new InvalidAnswer(problem)
    // Looked at above: the boundary to the hook.
    return answer as ToolResult
  }
  return {
    async afterCall(result) {
      const point = result.status === 'success' ? 'after_tool_call_success' : 'after_tool_call_failure'
      const { value } = await batch.run<typeof point, ToolResult | null>(point, result, {
        ask: (execute, state, current) => current && execute(state, call, { ...current }),
        accept: (answer) => (answer === null ? null : accept(answer)),
        ends: (current) => current === null,
      })
      return value
    },
    async beforeStore(result) {
      const { value } = await batch.run('before_store_tool_result', result, {
        ask: (execute, state, current) => execute(state, call, { ...current }),
        accept,
      })
      return value
    },
  }
}
