import { activityInfo, getClient } from '@temporalio/activity'
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import { defineTool } from 'everthread'
import { z } from 'zod'

import type { refundOrder } from './workflows.ts'

/** Starts a workflow of the shop: a tool runs in an activity, and has the Temporal client of its worker. */
export const refund_order = defineTool({
  description: 'Refund an order.',
  args: z.object({ orderId: z.string(), euros: z.number().positive() }),
  // Safe to repeat: a repeated call uses the same workflow id.
  idempotent: true,
  async execute(_state, { orderId, euros }, { idempotencyKey }) {
    const { workflow } = getClient()
    const workflowId = `refund-${idempotencyKey}`
    const handle = await workflow
      .start<typeof refundOrder>('refundOrder', {
        workflowId,
        taskQueue: activityInfo().taskQueue,
        args: [orderId, euros],
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        workflowIdConflictPolicy: 'USE_EXISTING',
      })
      .catch((error: unknown) => {
        // The workflow has ended already: its result is available.
        if (error instanceof WorkflowExecutionAlreadyStartedError)
          return workflow.getHandle<typeof refundOrder>(workflowId)
        throw error
      })
    return { status: 'success', result: await handle.result() }
  },
})
