import type { LanguageModelV4 } from '@ai-sdk/provider'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from 'everthread'

/** One agent with one tool: `result` is what the tool answers. */
export function loopRegistry(model: LanguageModelV4, result: () => string, maxSteps?: number) {
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
    agents: [
      defineAgent({
        name: 'worker',
        sideA: { prompt: 'worker', ...(maxSteps !== undefined && { maxSteps }) },
      }),
    ],
    tools: {
      look_up: defineTool({
        description: 'Looks something up',
        execute: () => ({ status: 'success', result: result() }),
      }),
    },
  })
}
