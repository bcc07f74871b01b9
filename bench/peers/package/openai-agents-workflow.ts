import { Agent } from '@openai/agents-core'
import type { AgentInputItem } from '@openai/agents-core'
import { activityAsTool, TemporalOpenAIRunner } from '@temporalio/openai-agents/workflow'

import type { ToolActivities } from './tool-activities.js'

export interface OpenAiAgentsInput {
  readonly items: AgentInputItem[]
  readonly maxTurns: number
}

/** One turn of an agent with one tool. */
export async function openAiAgentsTurn({ items, maxTurns }: OpenAiAgentsInput): Promise<string> {
  const lookUp = activityAsTool<ToolActivities['lookUp']>(
    {
      name: 'lookUp',
      description: 'Looks something up',
      parameters: {
        type: 'object',
        properties: { page: { type: 'number' } },
        required: ['page'],
        additionalProperties: false,
      },
    },
    { startToCloseTimeout: '1 minute' },
  )
  const agent = new Agent({
    name: 'Worker',
    instructions: 'You work step by step.',
    model: 'mock',
    tools: [lookUp],
  })
  const result = await new TemporalOpenAIRunner().run(agent, items, { maxTurns })
  return result.finalOutput ?? ''
}
