import { AiSdkPlugin } from '@temporalio/ai-sdk'
import type { ModelMessage } from 'ai'

import { aiSdkProvider } from './ai-sdk-model.js'
import type { AiSdkInput } from './ai-sdk-workflow.js'
import type { Peer } from './peer.js'
import type { Turn } from './turn.js'

/** `@temporalio/ai-sdk`: the AI SDK's `generateText` in a workflow. */
export function aiSdkPeer(turn: Turn): Peer {
  return {
    plugin: new AiSdkPlugin({ modelProvider: aiSdkProvider(turn) }),
    workflow: { workflowsPath: new URL('ai-sdk-workflow.ts', import.meta.url).pathname },
    workflowType: 'aiSdkTurn',
    turnInput: (results, maxSteps): AiSdkInput => ({
      messages: [
        { role: 'user', content: 'Look it all up.' },
        ...results.flatMap(callWithResult),
        { role: 'user', content: 'Go on.' },
      ],
      maxSteps,
    }),
  }
}

function callWithResult(value: string, page: number): ModelMessage[] {
  const call = { toolCallId: `past-${page}`, toolName: 'lookUp' }
  return [
    { role: 'assistant', content: [{ type: 'tool-call', ...call, input: { page } }] },
    { role: 'tool', content: [{ type: 'tool-result', ...call, output: { type: 'text', value } }] },
  ]
}
