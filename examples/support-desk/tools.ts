import { defineTool } from 'everthread'
import { z } from 'zod'

import { findOrder, invoiceOf, refund } from './orders.ts'

export const lookup_order = defineTool({
  description: 'Look up an order by its number. Attaches its invoice when asked for.',
  args: z.object({ orderId: z.string(), withInvoice: z.boolean().default(false) }),
  idempotent: true,
  execute(_state, { orderId, withInvoice }) {
    const order = findOrder(orderId)
    if (order === undefined) return { status: 'error', error: `There is no order ${orderId}.` }
    const result = { status: 'success', result: { ...order } } as const
    if (!withInvoice) return result
    const data = Buffer.from(invoiceOf(orderId, order))
    return { ...result, attachments: [{ name: `${orderId}.txt`, mimeType: 'text/plain', data }] }
  },
})

export const refund_order = defineTool({
  description: 'Refund an order. A person approves each refund above 50 euros.',
  args: z.object({ orderId: z.string(), euros: z.number().positive() }),
  idempotent: true,
  needsApproval: (_state, { euros }) => euros > 50,
  execute(_state, { orderId, euros }, { idempotencyKey }) {
    refund(idempotencyKey)
    return { status: 'success', result: `${euros} euros are refunded for ${orderId}.` }
  },
})

export const ask_warehouse = defineTool({
  description: 'Ask the people in the warehouse. They answer when they have looked, maybe tomorrow.',
  args: z.object({ question: z.string() }),
  // The call waits at no cost until a client calls `thread.respond(call.id, { result })`.
  execute: () => ({ status: 'pending' }),
})
