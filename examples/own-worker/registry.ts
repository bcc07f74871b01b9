import { openai } from '@ai-sdk/openai'
import { defineAgent, defineModel, definePrompt, registry } from 'everthread'

import { refund_order } from './refund-order.ts'

const chat = defineModel({ name: 'chat', provider: openai, model: 'gpt-5-mini' })

const complaints_desk = definePrompt({
  name: 'complaints_desk',
  toolDescription: 'Looks at complaints',
  model: 'chat',
  includeChat: true,
  includePastTools: true,
  prompt: 'You look at complaints. Refund what was damaged, and say in one sentence what you did.',
  tools: ['refund_order'],
})

/** An agent whose tool starts a workflow of the shop, and which workflows of the shop start. */
export const complaints = registry({
  agents: [defineAgent({ name: 'complaints', sideA: { prompt: 'complaints_desk', maxSteps: 10 } })],
  prompts: [complaints_desk],
  models: [chat],
  tools: { refund_order },
})
