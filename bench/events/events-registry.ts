import { defineAgent, defineModel, definePrompt, registry } from 'everthread'

import { stampingModel } from './stamping-model.js'
import type { Answer } from './stamping-model.js'

/** One agent that streams. */
export function eventsRegistry(answer: Answer) {
  const model = stampingModel(answer)
  return registry({
    models: [defineModel({ name: 'stamping', provider: { languageModel: () => model }, model: 'stamping' })],
    prompts: [
      definePrompt({
        name: 'speaker',
        toolDescription: 'Speaks',
        prompt: 'You speak.',
        model: 'stamping',
        includeChat: true,
      }),
    ],
    agents: [defineAgent({ name: 'speaker', sideA: { prompt: 'speaker' } })],
  })
}
