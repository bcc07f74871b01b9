import { openai } from '@ai-sdk/openai'
import { tool } from 'ai'
import { agent, registry } from 'everthread'
import { z } from 'zod'

const look_up_order = tool({
  description: 'Look up an order by its number.',
  inputSchema: z.object({ order: z.string() }),
  execute: ({ order }) => ({ order, goods: 'a tent', euros: 180, status: 'sent' }),
})

const researcher = agent({
  name: 'researcher',
  description: 'Finds out how goods are used.',
  model: openai('gpt-5-mini'),
  instructions: 'You know all about camping. Answer in two sentences.',
})

const support = agent({
  name: 'support',
  model: openai('gpt-5-mini'),
  instructions: 'You help customers of a shop. Be brief.',
  tools: { look_up_order },
  subagents: { researcher },
  output: z.object({ answer: z.string(), orders: z.array(z.string()) }),
  budget: { maxCost: 1 },
})

export const shop = registry({ agents: [support] })
