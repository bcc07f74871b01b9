import { z } from 'zod'

import { count, name, providerOptions, taskQueue, text } from './field-shapes.js'
import { providerVersionProblem } from './provider-version.js'

const price = z.number().nonnegative()

const provider = z
  .custom((value) => {
    const isHolder = typeof value === 'function' || (typeof value === 'object' && value !== null)
    return isHolder && 'languageModel' in value && typeof value.languageModel === 'function'
  }, 'expected a provider of the AI SDK: an object with languageModel(id)')
  .superRefine((value, context) => {
    const problem = providerVersionProblem(value)
    if (problem !== undefined) context.addIssue(problem)
  })

const capabilities = z.strictObject({
  supportsImages: z.boolean().optional(),
  supportsDocuments: z.boolean().optional(),
  supportsAudio: z.boolean().optional(),
  supportsToolCalls: z.boolean().optional(),
  supportsStreaming: z.boolean().optional(),
  supportsJsonMode: z.boolean().optional(),
  maxContextTokens: count.optional(),
  maxOutputTokens: count.optional(),
  reasoningLevels: z
    .record(z.string(), text.nullable())
    .refine((levels) => Object.keys(levels).every(isLevel), 'expected levels from 0 to 100 as keys')
    .optional(),
  vision: z.boolean().optional(),
})

/** What a model may look like. */
export const modelShape = z.strictObject({
  name,
  provider,
  model: text,
  fallbacks: z.array(name).optional(),
  rateLimit: z
    .strictObject({ concurrency: count.optional(), requestsPerMinute: count.optional() })
    .optional(),
  taskQueue: taskQueue.optional(),
  inputPrice: price.optional(),
  outputPrice: price.optional(),
  cachedPrice: price.optional(),
  capabilities: capabilities.optional(),
  providerOptions: providerOptions.optional(),
})

function isLevel(key: string): boolean {
  return /^\d+(\.\d+)?$/.test(key) && Number(key) <= 100
}
