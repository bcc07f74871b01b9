import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModel } from '../../src/model/model-answer.js'

/** The provider libraries that users bring, each pointed at a mock: name of the wire format, and a model of it. */
export const REAL_PROVIDERS: readonly {
  readonly name: string
  readonly model: (baseURL: string) => LanguageModel
}[] = [
  { name: 'openai chat', model: (baseURL) => createOpenAI({ baseURL, apiKey: 'none' }).chat('mock') },
  { name: 'openai responses', model: (baseURL) => createOpenAI({ baseURL, apiKey: 'none' })('mock') },
  { name: 'anthropic', model: (baseURL) => createAnthropic({ baseURL, apiKey: 'none' })('mock') },
  {
    name: 'openai-compatible',
    model: (baseURL) =>
      createOpenAICompatible({ name: 'mock', baseURL, apiKey: 'none' }).languageModel('mock'),
  },
  // A name that the library knows would have it fill in missing signatures by itself.
  { name: 'google', model: (baseURL) => createGoogleGenerativeAI({ baseURL, apiKey: 'none' })('mock') },
]
