import { defineWorkflowTool } from 'everthread'
import { z } from 'zod'

/** A workflow of the shop: a call starts it once, and waits for it without holding a worker. */
export const refund_order = defineWorkflowTool({
  description: 'Refund an order.',
  args: z.object({ orderId: z.string(), euros: z.number().positive() }),
  workflow: 'refundOrder',
  input: ({ orderId, euros }) => [orderId, euros],
})
