import { WorkflowStreamClient } from '@temporalio/workflow-streams/client'

import { aiSdkPeer } from './ai-sdk-peer.js'
import type { Peer } from './peer.js'
import type { Turn } from './turn.js'

/** `@temporalio/ai-sdk`: the AI SDK's `streamText` in a workflow, and one subscriber of its text. */
export function aiSdkStreamingPeer(turn: Turn): Peer {
  return {
    ...aiSdkPeer(turn),
    workflow: { workflowsPath: new URL('ai-sdk-streaming-workflow.ts', import.meta.url).pathname },
    workflowType: 'aiSdkStreamingTurn',
    async readText(client, workflowId) {
      let pieces = 0
      for await (const _ of WorkflowStreamClient.create(client, workflowId).subscribe()) pieces += 1
      return pieces
    },
  }
}
