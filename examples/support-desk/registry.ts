import { openai } from '@ai-sdk/openai'
import { defineAgent, defineHook, defineModel, definePrompt, registry } from 'everthread'

import * as tools from './tools.ts'

const chat = defineModel({ name: 'chat', provider: openai, model: 'gpt-5-mini' })

const support_desk = definePrompt({
  name: 'support_desk',
  toolDescription: 'Answers customers',
  model: 'chat',
  includeChat: true,
  includePastTools: true,
  prompt: [
    { type: 'text', content: 'You are the support desk of ' },
    { type: 'env', property: 'COMPANY_NAME' },
    { type: 'text', content: '. Be brief. Never invent facts.' },
  ],
  variables: [{ name: 'COMPANY_NAME', type: 'text', required: true, description: 'Shown to customers' }],
  tools: ['lookup_order', 'refund_order', 'ask_warehouse'],
  hooks: ['mask_card_numbers'],
})

const mask_card_numbers = defineHook({
  hook: 'before_create_message',
  id: 'mask_card_numbers',
  execute: (_state, message) => ({
    ...message,
    content: message.content?.replaceAll(/\b\d{13,19}\b/g, '[card number]') ?? null,
  }),
})

const support = defineAgent({
  name: 'support',
  title: 'Support desk',
  description: 'Answers customers, looks up orders, refunds them.',
  sideA: { prompt: 'support_desk', maxSteps: 30 },
  env: { COMPANY_NAME: 'Acme Outdoor' },
})

/** A support desk: tools with a file and an approval, a call that people answer, a hook, a variable. */
export const desk = registry({
  agents: [support],
  prompts: [support_desk],
  models: [chat],
  hooks: [mask_card_numbers],
  tools,
})
