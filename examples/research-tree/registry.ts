import { openai } from '@ai-sdk/openai'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from 'everthread'
import { z } from 'zod'

const NOTES: Readonly<Record<string, string>> = {
  rain: 'Rain is water that falls in drops of more than half a millimetre.',
  snow: 'Snow is ice crystals that fall below two degrees Celsius.',
  hail: 'Hail is balls of ice that grow in thunderclouds.',
}

const look_up = defineTool({
  description: 'Look up a topic in the library.',
  args: z.object({ topic: z.string() }),
  readOnly: true,
  execute: (_state, { topic }) => ({
    status: 'success',
    result: NOTES[topic.toLowerCase()] ?? `The library has nothing about ${topic}.`,
  }),
})

const deliver = defineTool({
  description: 'Deliver what you have found, in one paragraph.',
  args: z.object({ text: z.string() }),
  execute: () => ({ status: 'success' }),
})

const talks = { model: 'chat', includeChat: true, includePastTools: true, toolDescription: 'Works' } as const

/** A lead and its researchers, who all spend one budget of money; at its limit the owner is asked. */
export const research = registry({
  agents: [
    defineAgent({
      name: 'lead',
      title: 'Research lead',
      sideA: { prompt: 'lead' },
      // Of each run of the lead alone: a loop ends here.
      budget: { maxSteps: 20 },
    }),
    defineAgent({
      name: 'researcher',
      type: 'dual_ai',
      exposeAsTool: true,
      toolDescription: 'Researches topics, each by itself, and answers with a paragraph about each.',
      sideA: {
        prompt: 'researching',
        stopOnResponse: false,
        sessionStop: { name: 'deliver', messageProperty: 'text' },
      },
      sideB: { prompt: 'researching' },
      maxSessionTurns: 10,
    }),
  ],
  prompts: [
    definePrompt({
      ...talks,
      name: 'lead',
      prompt: 'You lead researchers. Give each of them one topic, then write a short summary.',
      tools: [{ name: 'researcher', initUserMessageProperty: 'topic', blocking: true, fanOut: true }],
    }),
    definePrompt({
      ...talks,
      name: 'researching',
      prompt: 'Look up your topic, then deliver one paragraph.',
      requiredSchema: z.object({ topic: z.string() }),
      tools: ['look_up', 'deliver'],
    }),
  ],
  // Dollars for a million tokens; without them the price table of the package counts.
  models: [
    defineModel({ name: 'chat', provider: openai, model: 'gpt-5-mini', inputPrice: 0.25, outputPrice: 2 }),
  ],
  tools: { look_up, deliver },
})

/** What a thread may spend with all of its researchers. */
export const budgets = {
  tree: { maxCost: 0.01, onExceeded: 'ask', approval: { roles: ['owner'] }, tellModel: true },
} as const
