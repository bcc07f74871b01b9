import { setTimeout as delay } from 'node:timers/promises'

import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'

import { now } from '../clock.js'
import { benchModel, finish } from '../loop/model-parts.js'
import { STAMP_END } from './stamp.js'

/** How many tokens the next answers have, and the milliseconds between them. */
export interface Answer {
  tokens: number
  pause: number
}

/** A model whose tokens say when they were made. */
export function stampingModel(answer: Answer): LanguageModelV4 {
  return benchModel('stamping', () => stamps({ ...answer }))
}

async function* stamps({ tokens, pause }: Answer): AsyncGenerator<LanguageModelV4StreamPart> {
  yield { type: 'text-start', id: '1' }
  for (let n = 0; n < tokens; n += 1) {
    await delay(pause)
    yield { type: 'text-delta', id: '1', delta: `${now()}${STAMP_END}` }
  }
  yield { type: 'text-end', id: '1' }
  yield finish('stop', tokens)
}
