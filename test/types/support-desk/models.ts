import { anthropic } from '@ai-sdk/anthropic'
import { openai } from '@ai-sdk/openai'
import { defineModel } from '../../../src/index.js'
export const chat = defineModel({
  name: 'chat',
  provider: openai,
  model: 'gpt-5-mini',
  fallbacks: ['review'],
  inputPrice: 0.25,
  outputPrice: 2,
  capabilities: { supportsImages: true, maxContextTokens: 400_000 },
  providerOptions: { openai: { reasoningEffort: 'low' } },
})
export const review = defineModel({ name: 'review', provider: anthropic, model: 'claude-sonnet-4-5' })
