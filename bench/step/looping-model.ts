import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'

import type { Stopwatch } from './stopwatch.js'

/** What the model does in the turn at hand. */
export interface Turn {
  /** Calls of the tool, one a step, before the answer that ends the turn. */
  calls: number
  /** Characters of each tool result. */
  resultLength: number
  /** Called with the answer that ends the turn. */
  ended: () => void
}

/** A model that costs nothing: it calls the tool as often as the turn says, then answers. It marks each request. */
export function loopingModel(turn: Turn, stopwatch: Stopwatch): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'looping',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('Expected a streaming call.')),
    doStream: async () => {
      stopwatch.mark()
      turn.calls -= 1
      if (turn.calls >= 0) return { stream: streamOf([CALL, finish('tool-calls')]) }
      turn.ended()
      return { stream: streamOf([...WORDS, finish('stop')]) }
    },
  }
}

const CALL: LanguageModelV4StreamPart = {
  type: 'tool-call',
  toolCallId: 'call',
  toolName: 'look_up',
  input: '{}',
}

const WORDS: readonly LanguageModelV4StreamPart[] = [
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta: 'Done.' },
  { type: 'text-end', id: '1' },
]

function finish(unified: 'stop' | 'tool-calls'): LanguageModelV4StreamPart {
  return {
    type: 'finish',
    finishReason: { unified, raw: unified },
    usage: {
      inputTokens: { total: 1000, noCache: 1000, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 10, text: 10, reasoning: 0 },
    },
  }
}

function streamOf(parts: readonly LanguageModelV4StreamPart[]): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
}
