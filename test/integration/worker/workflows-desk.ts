import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { z } from 'zod'

import { agent, defineWorkflowTool, registry } from '../../../src/index.js'
import type { WorkerPlace } from './run-worker.js'

/** The task queue of the user's worker. */
export const THEIR_QUEUE = 'workflow-crash-theirs'

/** A clerk whose tools are workflows of another worker. */
export function workflowsDesk({ modelUrl }: Pick<WorkerPlace, 'modelUrl'>) {
  const provider = createOpenAICompatible({ name: 'mock', baseURL: modelUrl, apiKey: 'none' })
  const tool = { description: 'Refunds.', args: z.object({ orderId: z.string() }), taskQueue: THEIR_QUEUE }
  const clerk = agent({
    ...{ name: 'clerk', model: provider('mock'), instructions: 'You are the clerk.' },
    tools: {
      wait: defineWorkflowTool({ ...tool, workflow: 'refund' }),
      begin: defineWorkflowTool({ ...tool, workflow: 'refund', mode: 'start' }),
    },
  })
  return registry({ agents: [clerk] })
}
