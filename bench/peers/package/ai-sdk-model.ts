import type { LanguageModelV4, LanguageModelV4GenerateResult, ProviderV4 } from '@ai-sdk/provider'

import { nextPage } from './turn.js'
import type { Turn } from './turn.js'

/** A provider whose one model calls the tool as often as the turn says, then answers. */
export function aiSdkProvider(turn: Turn): ProviderV4 {
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'mock',
    supportedUrls: {},
    doGenerate: async () => answer(nextPage(turn)),
    doStream: () => Promise.reject(new Error('Expected a call that does not stream.')),
  }
  const none = (): never => {
    throw new Error('Expected a call of the language model.')
  }
  return {
    specificationVersion: 'v4',
    languageModel: () => model,
    embeddingModel: none,
    imageModel: none,
  }
}

function answer(page: number | undefined): LanguageModelV4GenerateResult {
  const reason = page === undefined ? 'stop' : 'tool-calls'
  return {
    content: [
      page === undefined
        ? { type: 'text', text: 'Done.' }
        : {
            type: 'tool-call',
            toolCallId: `call-${page}`,
            toolName: 'lookUp',
            input: JSON.stringify({ page }),
          },
    ],
    finishReason: { unified: reason, raw: reason },
    usage: {
      inputTokens: { total: 1000, noCache: 1000, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 10, text: 10, reasoning: 0 },
    },
    warnings: [],
  }
}
