import { definePrompt } from '../../../src/index.js'
import { z } from 'zod'
export const tone = definePrompt({
  name: 'tone',
  toolDescription: 'Tone of voice',
  prompt: 'Be brief and friendly. Never invent facts.',
  model: 'chat',
})
export const support_desk = definePrompt({
  name: 'support_desk',
  toolDescription: 'Answers customers',
  model: 'chat',
  includeChat: true,
  includePastTools: true,
  prompt: [
    { type: 'text', content: 'You are the support desk of ' },
    { type: 'env', property: 'COMPANY_NAME' },
    { type: 'text', content: '. ' },
    { type: 'include', prompt: 'tone' },
  ],
  variables: [{ name: 'COMPANY_NAME', type: 'text', required: true, description: 'Shown to customers' }],
  tools: [
    'lookup_order',
    'refund_order',
    { name: 'research', initUserMessageProperty: 'question', initAttachmentsProperty: 'files' },
  ],
  hooks: ['mask_card_numbers'],
})
export const researcher = definePrompt({
  name: 'researcher',
  toolDescription: 'Researches a question',
  model: 'chat',
  includeChat: true,
  includePastTools: true,
  requiredSchema: z.object({ question: z.string(), files: z.array(z.string()).default([]) }), // the arguments of the subagent tool
  prompt: 'Research the question. Give sources. A reviewer reads every draft.',
  tools: ['lookup_order', 'give_up'],
})
export const reviewer = definePrompt({
  name: 'reviewer',
  toolDescription: 'Reviews research',
  model: 'review',
  includeChat: true,
  prompt: 'Object to each claim without a source. When nothing is left, deliver the report.',
  tools: ['deliver_report'],
})
