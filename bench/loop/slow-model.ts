import { setTimeout as delay } from 'node:timers/promises'

import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'

import { CALL } from './loop-model.js'
import { benchModel, DONE } from './model-parts.js'

/** Twenty words a second. */
const PAUSE = 50

/** What a slow model does. */
export interface SlowModel {
  /** Asked at each request: from there to the end of its answer. */
  readonly seconds: () => number
  /** Whether it streams words meanwhile. */
  readonly speaks: boolean
  /** Asked at each request: it calls the tool, or ends the turn. */
  readonly goesOn: (request: LanguageModelV4CallOptions) => boolean
}

/** A model that takes its time. */
export function slowModel({ seconds, speaks, goesOn }: SlowModel): LanguageModelV4 {
  return benchModel('slow', (request) => {
    const end = goesOn(request) ? CALL : DONE
    return speaks ? speak(seconds(), end) : keepSilent(seconds(), end)
  })
}

type Parts = readonly LanguageModelV4StreamPart[]

async function* keepSilent(seconds: number, end: Parts): AsyncGenerator<LanguageModelV4StreamPart> {
  await delay(seconds * 1000)
  yield* end
}

async function* speak(seconds: number, end: Parts): AsyncGenerator<LanguageModelV4StreamPart> {
  const until = performance.now() + seconds * 1000
  yield { type: 'text-start', id: 'words' }
  do {
    yield { type: 'text-delta', id: 'words', delta: 'word ' }
    await delay(Math.min(PAUSE, Math.max(0, until - performance.now())))
  } while (performance.now() < until)
  yield { type: 'text-end', id: 'words' }
  yield* end
}
