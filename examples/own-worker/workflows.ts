// Workflows of the shop, written without a thought of threads but for reviewComplaint.
import { executeChild, proxyActivities } from '@temporalio/workflow'
import { agentThread } from 'everthread/workflows'

import type { ShopActivities } from './activities.ts'

const { bookRefund, readAnswer } = proxyActivities<ShopActivities>({ startToCloseTimeout: '1 minute' })

/** Has an agent look at a complaint and waits for it; returns what the agent says. */
export async function reviewComplaint(orderId: string): Promise<string> {
  const { threadId } = await executeChild(agentThread, {
    workflowId: `complaint-${orderId}`,
    // Up to 4 KiB. It is in this workflow's history, as everything that workflows say to each other.
    args: [{ agent: 'complaints', message: { content: `Order ${orderId} was damaged.` }, resumable: false }],
    // A cancel is a thread's terminate. Temporal's default would kill it: calls without results, children left behind.
    parentClosePolicy: 'REQUEST_CANCEL',
  })
  // The thread's result is ids and facts; its words are in the store.
  return readAnswer(threadId)
}

/** What the agent's tool starts. */
export async function refundOrder(orderId: string, euros: number): Promise<string> {
  return bookRefund(orderId, euros)
}
