import { startChild } from '@temporalio/workflow'

import { agentThread } from '../../../src/workflows/index.js'

/** Needs a payload converter of its own. */
export async function double(count: bigint): Promise<bigint> {
  return count * 2n
}

/** Talks to a thread that it started. */
export async function talk(threadId: string): Promise<string> {
  const thread = await startChild(agentThread, {
    workflowId: threadId,
    args: [{ agent: 'complaints', message: { content: 'First' } }],
    parentClosePolicy: 'ABANDON',
  })
  await thread.signal('queueMessage', { content: 'Second' })
  return thread.workflowId
}
