import { openai } from '@ai-sdk/openai'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from 'everthread'
import { z } from 'zod'

import { account } from './account.ts'

const HOUR = 3_600_000

const look_up_order = defineTool({
  description: 'Look up an order by its number.',
  args: z.object({ orderId: z.string() }),
  capabilities: ['orders.read'],
  readOnly: true,
  execute(_state, { orderId }) {
    const order = account.find(orderId)
    return order === undefined
      ? { status: 'error', error: `There is no order ${orderId}.` }
      : { status: 'success', result: { ...order } }
  },
})

const refund_order = defineTool({
  description: 'Refund an order, or a part of it.',
  args: z.object({ orderId: z.string(), euros: z.number().positive().max(1_000) }),
  capabilities: ['orders.refund'],
  destructive: { impact: 'The money leaves our account.', undo: 'Charge the customer again.' },
  needsApproval: true,
  approval: { roles: ['manager'], fourEyes: true, expiresIn: 24 * HOUR },
  preview(_state, { orderId, euros }) {
    const { total, refunded } = account.find(orderId) ?? { total: 0, refunded: 0 }
    return [
      { type: 'text', text: `${euros} euros go back to the customer of ${orderId}.` },
      {
        type: 'diff',
        title: 'The order',
        before: `refunded ${refunded} of ${total} euros`,
        after: `refunded ${refunded + euros} of ${total} euros`,
      },
    ]
  },
  execute(_state, { orderId, euros }, { idempotencyKey }) {
    account.refund(orderId, euros, idempotencyKey)
    return { status: 'success', result: `${euros} euros are refunded for ${orderId}.` }
  },
})

/** A refund desk: a preview, approvals by a manager who is not the customer's clerk, changed arguments, a grant, rules. */
export const refunds = registry({
  agents: [defineAgent({ name: 'refunds', title: 'Refund desk', sideA: { prompt: 'refund_desk' } })],
  prompts: [
    definePrompt({
      name: 'refund_desk',
      toolDescription: 'Refunds orders',
      model: 'chat',
      includeChat: true,
      includePastTools: true,
      prompt: 'You are the refund desk. Look up the order first. Be brief, and never invent facts.',
      tools: ['look_up_order', 'refund_order'],
    }),
  ],
  models: [defineModel({ name: 'chat', provider: openai, model: 'gpt-5-mini' })],
  tools: { look_up_order, refund_order },
})
