/** The OpenAPI schemas of what a thread has used, and of the models that it uses. */
import { z } from '@hono/zod-openapi'
import { budgetState } from './budget-schemas.js'
import { microseconds } from './schemas.js'

const count = z.int().nonnegative()
const milliseconds = z.number().nullable()

const durations = z
  .object({ count, mean: milliseconds, p50: milliseconds, p95: milliseconds, max: milliseconds })
  .openapi('Durations', { description: 'Milliseconds; null: there was none.' })

const requestsUsage = {
  requests: count.openapi({ description: 'Requests to providers, with retries and fallbacks.' }),
  failedRequests: count,
  inputTokens: count,
  outputTokens: count,
  cachedInputTokens: count.openapi({ description: 'A part of inputTokens.' }),
  cost: z.number().nullable().openapi({
    description: 'Millionths of a dollar; null: the price of a model is unknown.',
  }),
  knownCost: z.number().openapi({ description: 'The part of the cost whose prices are known.' }),
  answerTime: durations,
}

export const threadUsage = z
  .object({
    threads: count,
    messages: count,
    runs: count,
    steps: count,
    toolCalls: count,
    failedToolCalls: count,
    toolTime: durations,
    ...requestsUsage,
    models: z.array(z.object({ model: z.string(), ...requestsUsage }).openapi('ModelUsage')).readonly(),
  })
  .openapi('ThreadUsage')

export const routingSummary = z
  .object({
    threadId: z.string(),
    choice: z
      .object({
        model: z.string().nullable().openapi({ description: 'Null: no model is left.' }),
        routing: z.any().openapi({ description: 'As the event `model.requested` has it.' }),
        available: count.openapi({ description: 'The candidates that could be called.' }),
        runId: z.string().nullable(),
        stepId: z.string().nullable(),
        at: microseconds,
      })
      .nullable()
      .openapi({ description: 'The newest choice of a model; null: none in the newest 1,000 events.' }),
    waitsFor: z
      .object({ limit: z.string(), until: microseconds })
      .nullable()
      .openapi({ description: 'The limit of the account for which the thread waits.' }),
    budgets: z.array(budgetState).readonly(),
    usage: threadUsage,
  })
  .openapi('RoutingSummary')
