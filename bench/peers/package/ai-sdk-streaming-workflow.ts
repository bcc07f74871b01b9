import { proxyActivities } from '@temporalio/workflow'
import { TemporalProvider } from '@temporalio/ai-sdk/workflow'
import { WorkflowStream } from '@temporalio/workflow-streams/workflow'
import { stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'

import type { AiSdkInput } from './ai-sdk-workflow.js'
import type { ToolActivities } from './tool-activities.js'

const { lookUp } = proxyActivities<ToolActivities>({ startToCloseTimeout: '1 minute' })
const provider = new TemporalProvider({ languageModel: { streamingTopic: 'text' } })

/** The turn of `aiSdkTurn` with live text, for whoever subscribes to the workflow's stream. */
export async function aiSdkStreamingTurn({ messages, maxSteps }: AiSdkInput): Promise<string> {
  new WorkflowStream()
  const result = streamText({
    model: provider.languageModel('mock'),
    system: 'You work step by step.',
    messages,
    tools: {
      lookUp: tool({
        description: 'Looks something up',
        inputSchema: z.object({ page: z.number() }),
        execute: async (input) => lookUp(input),
      }),
    },
    stopWhen: stepCountIs(maxSteps),
  })
  return await result.text
}
