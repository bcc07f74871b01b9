import type {
  LanguageModelV4,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  ProviderV4,
} from '@ai-sdk/provider'

import { nextPage, think, words } from './turn.js'
import type { Turn } from './turn.js'

/** A provider whose one model calls the tool as often as the turn says, then answers. */
export function aiSdkProvider(turn: Turn): ProviderV4 {
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'mock',
    supportedUrls: {},
    doGenerate: async () => {
      const page = nextPage(turn)
      await think(turn)
      return answer(page)
    },
    doStream: async () => ({ stream: ReadableStream.from(stream(turn, nextPage(turn))) }),
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

/** It says words for as long as its answer takes, then what `answer` has. */
async function* stream(turn: Turn, page: number | undefined): AsyncGenerator<LanguageModelV4StreamPart> {
  yield { type: 'stream-start', warnings: [] }
  yield { type: 'text-start', id: '1' }
  for await (const delta of words(turn)) yield { type: 'text-delta', id: '1', delta }
  yield { type: 'text-end', id: '1' }
  const { content, finishReason, usage } = answer(page)
  for (const part of content) if (part.type === 'tool-call') yield part
  yield { type: 'finish', finishReason, usage }
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
