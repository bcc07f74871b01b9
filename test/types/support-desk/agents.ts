import { defineAgent, defineEffect, defineHook } from '../../../src/index.js'
import { z } from 'zod'
export const support = defineAgent({
  name: 'support',
  sideA: { prompt: 'support_desk', maxSteps: 30 },
  env: { COMPANY_NAME: 'Acme Outdoor' },
})
export const research = defineAgent({
  name: 'research',
  type: 'dual_ai',
  maxSessionTurns: 12,
  exposeAsTool: true,
  toolDescription: 'Have a question researched and reviewed. The report arrives later.',
  sideA: {
    label: 'Researcher',
    prompt: 'researcher',
    sessionFail: { name: 'give_up', messageProperty: 'reason' },
  },
  sideB: {
    label: 'Reviewer',
    prompt: 'reviewer',
    sessionStop: { name: 'deliver_report', messageProperty: 'summary', attachmentsProperty: 'attachments' },
  },
})
export const maskCardNumbers = defineHook({
  hook: 'before_create_message',
  id: 'mask_card_numbers',
  execute: (_state, message) => ({
    ...message,
    content: message.content?.replace(/\b\d{13,19}\b/g, '[card number]') ?? null,
  }),
})
export const ask_satisfaction = defineEffect(
  'Ask whether a refund arrived',
  z.object({ orderId: z.string() }),
  async (state, { orderId }) => {
    await state.queueMessage({
      role: 'user',
      silent: true,
      content: `Ask the customer whether the refund of order ${orderId} arrived.`,
    })
  },
)
