import type { Usage } from '../../protocol/activities.js'
import type { ModelContent } from '../../definitions/plan-content.js'
import type { ModelUsage } from '../../model/model-answer.js'

/** Dollars per million tokens; null when unknown. */
export type Prices = Pick<ModelContent, 'inputPrice' | 'outputPrice' | 'cachedPrice'>

export function pricesOf(
  model: Partial<{ readonly [Price in keyof Prices]: Prices[Price] | undefined }> | undefined,
): Prices {
  const { inputPrice = null, outputPrice = null, cachedPrice = null } = model ?? {}
  return { inputPrice, outputPrice, cachedPrice }
}

/**
 * Tokens and cost of one request. Prices are dollars per million tokens, so tokens times price are millionths of a
 * dollar; cached tokens are a part of the input. Null when a price is unknown.
 */
export function usageOf(prices: Prices, usage: ModelUsage): Usage {
  return { ...usage, cost: costOf(prices, usage) }
}

/** Of several requests; a cost that is unknown makes the sum unknown. */
export function sumOf(usages: readonly Usage[]): Usage {
  return usages.reduce<Usage>(addUsage, { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cost: 0 })
}

/** The sum so far, with one more. */
export function addUsage(sum: Usage | null, usage: Usage): Usage {
  if (sum === null) return usage
  return {
    inputTokens: sum.inputTokens + usage.inputTokens,
    outputTokens: sum.outputTokens + usage.outputTokens,
    cachedInputTokens: sum.cachedInputTokens + usage.cachedInputTokens,
    cost: sum.cost === null || usage.cost === null ? null : sum.cost + usage.cost,
  }
}

function costOf({ inputPrice, outputPrice, cachedPrice }: Prices, usage: ModelUsage): number | null {
  if (inputPrice === null || outputPrice === null) return null
  const cached = Math.min(usage.cachedInputTokens, usage.inputTokens)
  const input = (usage.inputTokens - cached) * inputPrice + cached * (cachedPrice ?? inputPrice)
  return Math.round(input + usage.outputTokens * outputPrice)
}
