// Workflows of the shop; only reviewComplaint uses threads.
import { executeChild, proxyActivities } from '@temporalio/workflow'
import { agentThread } from 'everthread/workflows'

import type { ShopActivities } from './activities.ts'

const { bookRefund, readAnswer } = proxyActivities<ShopActivities>({ startToCloseTimeout: '1 minute' })

/** Starts an agent for a complaint, waits for it, and returns the agent's answer. */
export async function reviewComplaint(orderId: string): Promise<string> {
  const { threadId } = await executeChild(agentThread, {
    workflowId: `complaint-${orderId}`,
    // Up to 4 KiB. It is in this workflow's history, like all messages between workflows.
    args: [{ agent: 'complaints', message: { content: `Order ${orderId} was damaged.` }, resumable: false }],
    // A cancellation terminates a thread in order. Temporal's default would kill it: calls without results, orphaned children.
    parentClosePolicy: 'REQUEST_CANCEL',
  })
  // The thread's result has ids and facts; its texts are in the store.
  return readAnswer(threadId)
}

/** The workflow that the agent's tool starts. */
export async function refundOrder(orderId: string, euros: number): Promise<string> {
  return bookRefund(orderId, euros)
}
