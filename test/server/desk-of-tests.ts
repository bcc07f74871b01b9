import { z } from 'zod'

import {
  defineAgent,
  defineEffect,
  defineModel,
  definePrompt,
  defineTool,
  registry,
} from '../../src/index.js'

const provider = {
  languageModel(): never {
    throw new Error('Expected the model to be scripted by the test.')
  },
}

/** An agent with a tool and an effect, whose model the test scripts. */
export const deskOfTests = registry({
  models: [defineModel({ name: 'chat', provider, model: 'x' })],
  prompts: [
    definePrompt({
      ...{ name: 'desk', toolDescription: 'Answers', prompt: 'You answer.', model: 'chat' },
      ...{ includeChat: true, tools: ['look_up'] },
    }),
  ],
  agents: [defineAgent({ name: 'support', sideA: { prompt: 'desk' } })],
  tools: {
    look_up: defineTool({
      description: 'Looks something up',
      args: z.object({ what: z.string() }),
      execute: async (state, { what }) => {
        await state.setValue('looked', what)
        return { status: 'success', result: `Found ${what}` }
      },
    }),
  },
  effects: { remind: defineEffect('Reminds', async (state) => state.setValue('reminded', true)) },
})
