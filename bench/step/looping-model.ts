import type { LanguageModelV4 } from '@ai-sdk/provider'

import { loopModel } from '../loop/loop-model.js'
import type { Stopwatch } from './stopwatch.js'

/** What the model does in the turn at hand. */
export interface Turn {
  /** Calls of the tool, one a step, before the answer that ends the turn. */
  calls: number
  /** Characters of each tool result. */
  resultLength: number
  /** Called with the number of messages of each request. */
  asked?: (messages: number) => void
  /** Called with the answer that ends the turn. */
  ended: () => void
}

/** It calls the tool as often as the turn says, then answers. It marks each request. */
export function loopingModel(turn: Turn, stopwatch: Stopwatch): LanguageModelV4 {
  return loopModel(({ prompt }) => {
    stopwatch.mark()
    turn.asked?.(prompt.length)
    turn.calls -= 1
    if (turn.calls < 0) turn.ended()
    return turn.calls >= 0
  })
}
