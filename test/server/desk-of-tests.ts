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

/** The calls and effects that ran in this process. */
export const ran: string[] = []

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
        ran.push(what)
        await state.setValue('looked', what)
        return { status: 'success', result: `Found ${what}` }
      },
    }),
    refund: defineTool({
      description: 'Refunds, when somebody allows it',
      needsApproval: true,
      capabilities: ['orders.refund'],
      execute: async () => ({ status: 'success' }),
    }),
    fail: defineTool({
      description: 'Writes and fails',
      execute: async (state) => {
        await state.setValue('failing', true)
        throw new Error('Too bad')
      },
    }),
    hang: defineTool({
      description: 'Writes and never ends',
      execute: async (state) => {
        await state.setValue('hanging', true)
        ran.push('hang')
        return new Promise(() => undefined)
      },
    }),
  },
  effects: { remind: defineEffect('Reminds', async (state) => state.setValue('reminded', true)) },
})
