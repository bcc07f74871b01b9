import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'

type Parts = Iterable<LanguageModelV4StreamPart> | AsyncIterable<LanguageModelV4StreamPart>

/** A model that streams what `answer` gives for each request. */
export function benchModel(
  modelId: string,
  answer: (request: LanguageModelV4CallOptions) => Parts,
): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('Expected a streaming call.')),
    doStream: async (request) => ({ stream: ReadableStream.from(answer(request)) }),
  }
}

/** An answer of one word, which ends a turn. */
export const DONE: readonly LanguageModelV4StreamPart[] = [
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta: 'Done.' },
  { type: 'text-end', id: '1' },
  finish('stop'),
]

/** An answer that calls a tool. */
export function toolCall(toolName: string, input: unknown = {}): readonly LanguageModelV4StreamPart[] {
  return [
    { type: 'tool-call', toolCallId: 'call', toolName, input: JSON.stringify(input) },
    finish('tool-calls'),
  ]
}

/** The end of an answer; what it cost is nobody's concern here. */
export function finish(unified: 'stop' | 'tool-calls', tokens = 10): LanguageModelV4StreamPart {
  return {
    type: 'finish',
    finishReason: { unified, raw: unified },
    usage: {
      inputTokens: { total: 1000, noCache: 1000, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: tokens, text: tokens, reasoning: 0 },
    },
  }
}
