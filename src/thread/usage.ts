import type { Usage } from '../protocol/activities.js'
import type { Run } from './control.js'

/** The run with what a call used; an unknown price makes the sum unknown. */
export function used(run: Run, usage: Usage | undefined): Run {
  return usage === undefined ? run : { ...run, usage: sum(run.usage, usage) }
}

function sum(left: Usage, right: Usage): Usage {
  return {
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    cachedInputTokens: left.cachedInputTokens + right.cachedInputTokens,
    cost: left.cost === null || right.cost === null ? null : left.cost + right.cost,
  }
}
