import { defineAgent, defineModel, definePrompt, defineTool, registry } from 'everthread'

import { loopingModel } from './looping-model.js'
import type { Turn } from './looping-model.js'
import type { Stopwatch } from './stopwatch.js'

/** One agent with one tool: what it does and how long its results are, the turn says. */
export function stepRegistry(turn: Turn, stopwatch: Stopwatch) {
  const model = loopingModel(turn, stopwatch)
  return registry({
    models: [defineModel({ name: 'looping', provider: { languageModel: () => model }, model: 'looping' })],
    prompts: [
      definePrompt({
        name: 'worker',
        toolDescription: 'Works',
        prompt: 'You work step by step.',
        model: 'looping',
        includeChat: true,
        includePastTools: true,
        tools: ['look_up'],
      }),
    ],
    agents: [defineAgent({ name: 'worker', sideA: { prompt: 'worker' } })],
    tools: {
      look_up: defineTool({
        description: 'Looks something up',
        execute: () => ({ status: 'success', result: 'x'.repeat(turn.resultLength) }),
      }),
    },
  })
}
