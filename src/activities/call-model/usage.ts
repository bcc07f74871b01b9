import type { Usage } from '../../protocol/activities.js'
import type { ModelUsage } from '../../model/model-answer.js'
import type { ModelStep } from './model-step.js'

/**
 * Tokens and cost of one answer. Prices are dollars per million tokens, so tokens times price are millionths of a dollar;
 * cached tokens are a part of the input. Null when a price is unknown.
 */
export function usageOf(step: ModelStep, usage: ModelUsage): Usage {
  return { ...usage, cost: costOf(step, usage) }
}

function costOf(step: ModelStep, usage: ModelUsage): number | null {
  const model = step.content.models[step.prompt.model]
  if (model === undefined || model.inputPrice === null || model.outputPrice === null) return null
  const cached = Math.min(usage.cachedInputTokens, usage.inputTokens)
  const input =
    (usage.inputTokens - cached) * model.inputPrice + cached * (model.cachedPrice ?? model.inputPrice)
  return Math.round(input + usage.outputTokens * model.outputPrice)
}
