import { proxyActivities } from '@temporalio/workflow'
import { temporalProvider } from '@temporalio/ai-sdk/workflow'
import { generateText, stepCountIs, tool } from 'ai'
import type { ModelMessage } from 'ai'
import { z } from 'zod'

import type { ToolActivities } from './tool-activities.js'

export interface AiSdkInput {
  readonly messages: ModelMessage[]
  readonly maxSteps: number
}

const { lookUp } = proxyActivities<ToolActivities>({ startToCloseTimeout: '1 minute' })

/** One turn of an agent with one tool. */
export async function aiSdkTurn({ messages, maxSteps }: AiSdkInput): Promise<string> {
  const result = await generateText({
    model: temporalProvider.languageModel('mock'),
    system: 'You work step by step.',
    messages,
    tools: {
      lookUp: tool({
        description: 'Looks something up',
        inputSchema: z.object({ page: z.number() }),
        // As `execute: lookUp` the activity would get a second argument too, and with it all messages.
        execute: async (input) => lookUp(input),
      }),
    },
    stopWhen: stepCountIs(maxSteps),
  })
  return result.text
}
