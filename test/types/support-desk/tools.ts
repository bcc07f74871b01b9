import { defineTool } from '../../../src/index.js'
import { z } from 'zod'
import { renderInvoice } from './invoices.js'
export const lookup_order = defineTool({
  description: 'Look up an order by its number. Attaches its invoice when asked for.',
  args: z.object({ orderId: z.string(), withInvoice: z.boolean().default(false) }),
  variables: [
    { name: 'ORDERS_API_KEY', type: 'secret', required: true, description: 'Key of the orders service' },
  ],
  idempotent: true, // a call cut off by a crash may run again; without this the model is told that the outcome is unknown
  retry: { maximumAttempts: 3 },
  async execute(state, { orderId, withInvoice }) {
    // parsed arguments: withInvoice is a boolean
    const response = await fetch(`https://orders.example/v1/orders/${orderId}`, {
      headers: { authorization: `Bearer ${await state.env('ORDERS_API_KEY')}` },
      signal: state.execution?.abortSignal ?? null,
    })
    if (response.status === 404) return { status: 'error', error: `There is no order ${orderId}.` }
    const order = (await response.json()) as { total: number }
    if (!withInvoice) return { status: 'success', result: order }
    return {
      status: 'success',
      result: order,
      attachments: [
        { name: `${orderId}.pdf`, mimeType: 'application/pdf', data: await renderInvoice(order) },
      ],
    }
  },
})
export const refund_order = defineTool({
  description: 'Refund an order. A person approves each refund above 50 euros.',
  args: z.object({ orderId: z.string(), amount: z.number().positive() }),
  idempotent: true,
  needsApproval: (_state, { amount }) => amount > 50,
  async execute(state, { orderId, amount }, call) {
    await fetch('https://pay.example/refunds', {
      method: 'POST',
      headers: { 'idempotency-key': call.idempotencyKey },
      body: JSON.stringify({ orderId, amount }),
    })
    await state.scheduleEffect('ask_satisfaction', { orderId }, 3 * 24 * 3_600_000)
    return { status: 'success', result: `Refunded ${amount} euros.` }
  },
})
export const deliver_report = defineTool({
  description: 'Deliver the approved report. Ends the research.',
  args: z.object({ summary: z.string(), attachments: z.array(z.string()).default([]) }),
  execute: async () => ({ status: 'success' }),
})
export const give_up = defineTool({
  description: 'Say why the question cannot be answered. Ends the research.',
  args: z.object({ reason: z.string() }),
  execute: async () => ({ status: 'success' }),
})
