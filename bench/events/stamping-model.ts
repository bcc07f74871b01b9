import { setTimeout as delay } from 'node:timers/promises'

import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'

import { now, STAMP_END } from './stamp.js'

/** How many tokens the next answers have, and the milliseconds between them. */
export interface Answer {
  tokens: number
  pause: number
}

/** A model whose tokens say when they were made. */
export function stampingModel(answer: Answer): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'stamping',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('Expected a streaming call.')),
    doStream: async () => ({ stream: ReadableStream.from(stamps({ ...answer })) }),
  }
}

async function* stamps({ tokens, pause }: Answer): AsyncGenerator<LanguageModelV4StreamPart> {
  yield { type: 'text-start', id: '1' }
  for (let n = 0; n < tokens; n += 1) {
    await delay(pause)
    yield { type: 'text-delta', id: '1', delta: `${now()}${STAMP_END}` }
  }
  yield { type: 'text-end', id: '1' }
  yield {
    type: 'finish',
    finishReason: { unified: 'stop', raw: 'stop' },
    usage: {
      inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: tokens, text: tokens, reasoning: 0 },
    },
  }
}
