import type { Usage } from '../../protocol/activities.js'

/** A cost that is unknown makes the sum unknown. */
export function addUsage(sum: Usage | null, usage: Usage): Usage {
  if (sum === null) return usage
  return {
    inputTokens: sum.inputTokens + usage.inputTokens,
    outputTokens: sum.outputTokens + usage.outputTokens,
    cachedInputTokens: sum.cachedInputTokens + usage.cachedInputTokens,
    cost: sum.cost === null || usage.cost === null ? null : sum.cost + usage.cost,
  }
}
