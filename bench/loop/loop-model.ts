import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'

import { benchModel, DONE, toolCall } from './model-parts.js'

/** A call of the tool of `loopRegistry`. */
export const CALL = toolCall('look_up')

/** A model that costs nothing: asked at each request whether it goes on, it calls the tool or ends the turn. */
export function loopModel(goesOn: (request: LanguageModelV4CallOptions) => boolean): LanguageModelV4 {
  return benchModel('looping', (request) => (goesOn(request) ? CALL : DONE))
}
