import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { defineModel } from 'everthread'

import { chooseModel } from './choose-model.ts'

const { kind, url, key, model } = chooseModel(process.env)

/** Any provider of the AI SDK goes here. */
function provider() {
  if (kind === 'openai') return createOpenAI({ apiKey: key })
  if (kind === 'anthropic') return createAnthropic({ apiKey: key })
  return createOpenAICompatible({ name: kind, baseURL: url, apiKey: key, includeUsage: true })
}

export const chat = defineModel({ name: 'chat', provider: provider(), model })
