import { openai } from '@ai-sdk/openai'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from 'everthread'
import { z } from 'zod'

const chat = defineModel({ name: 'chat', provider: openai, model: 'gpt-5-mini' })

const front_desk = definePrompt({
  name: 'front_desk',
  toolDescription: 'Receives guests',
  model: 'chat',
  includeChat: true,
  includePastTools: true,
  prompt: 'You receive guests. Hand questions about bills over to billing, with a summary.',
  tools: [{ name: 'billing', session: false, initUserMessageProperty: 'summary' }],
})

const bills = definePrompt({
  name: 'bills',
  toolDescription: 'Explains bills',
  model: 'chat',
  includeChat: true,
  includePastTools: true,
  requiredSchema: z.object({ summary: z.string().describe('What the guest wants, in a sentence') }),
  prompt: 'You explain bills. The guest was handed over to you.',
  tools: ['find_bill'],
})

const find_bill = defineTool({
  description: 'Find the bill of a room.',
  args: z.object({ room: z.string() }),
  idempotent: true,
  execute: (_state, { room }) => ({ status: 'success', result: { room, nights: 2, euros: 198 } }),
})

const reception = defineAgent({ name: 'reception', sideA: { prompt: 'front_desk' } })

/** Exposed and of type ai_human: a call hands the thread over, with its history. */
const billing = defineAgent({
  name: 'billing',
  sideA: { prompt: 'bills' },
  exposeAsTool: true,
  toolDescription: 'Hand the guest over to billing.',
})

export const hotel = registry({
  agents: [reception, billing],
  prompts: [front_desk, bills],
  models: [chat],
  tools: { find_bill },
})
