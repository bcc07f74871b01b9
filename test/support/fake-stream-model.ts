import { setImmediate } from 'node:timers/promises'
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { LanguageModel } from '../../src/model/model-answer.js'

/** One attempt of the fake: the parts it streams; `never` in their place keeps the stream open and silent. */
export type FakeAttempt = (
  options: LanguageModelV4CallOptions,
) => Iterable<LanguageModelV4StreamPart | 'never'>

/** A model that streams whatever parts a test gives it and does not look at its abort signal. */
export function fakeStreamModel(...attempts: readonly FakeAttempt[]): LanguageModel & { calls: number } {
  const model = {
    specificationVersion: 'v4' as const,
    provider: 'fake',
    modelId: 'fake',
    supportedUrls: {},
    calls: 0,
    doGenerate: () => Promise.reject(new Error('Expected a streaming call.')),
    doStream(options: LanguageModelV4CallOptions) {
      const attempt = attempts[model.calls] ?? attempts.at(-1)
      model.calls += 1
      if (!attempt) throw new Error('Expected at least one attempt in the fake.')
      return Promise.resolve({ stream: streamOf(attempt(options)) })
    },
  }
  return model
}

function streamOf(parts: ReturnType<FakeAttempt>): ReadableStream<LanguageModelV4StreamPart> {
  const iterator = parts[Symbol.iterator]()
  return new ReadableStream<LanguageModelV4StreamPart>({
    async pull(controller) {
      // As from a network: each part in a turn of its own, so that timers and readers get theirs between.
      await setImmediate()
      const { value, done } = iterator.next()
      if (done) controller.close()
      else if (value === 'never') await new Promise<void>(() => undefined)
      else controller.enqueue(value)
    },
  })
}

/** The finish of a complete answer. */
export const FINISH: LanguageModelV4StreamPart = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: {
    inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: undefined, text: undefined, reasoning: undefined },
  },
}
