import { appendFileSync } from 'node:fs'

import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { z } from 'zod'

import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../../src/index.js'
import { marked } from '../../support/marker.js'
import type { WorkerPlace } from './run-worker.js'

const work = z.object({ task: z.string() })

/** A clerk whose model and whose one tool have task queues of their own. */
export function queuesDesk({ modelUrl, effects, taskQueue, threadQueue = taskQueue }: WorkerPlace) {
  const provider = createOpenAICompatible({ name: 'mock', baseURL: modelUrl, apiKey: 'none' })
  return registry({
    models: [defineModel({ name: 'chat', provider, model: 'mock', taskQueue: `${threadQueue}-models` })],
    prompts: [
      definePrompt({
        name: 'clerk',
        toolDescription: 'Answers people',
        prompt: 'You are the clerk.',
        model: 'chat',
        includeChat: true,
        includePastTools: true,
        tools: ['book', 'charge'],
      }),
    ],
    agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } })],
    tools: {
      book: defineTool({
        description: 'Books where threads run',
        args: work,
        execute: () => ({ status: 'success', result: marked('booked') }),
      }),
      charge: defineTool({
        description: 'Charges elsewhere',
        args: work,
        taskQueue: `${threadQueue}-gpu`,
        execute({ threadId }, _args, { attempt, idempotencyKey: key }) {
          appendFileSync(
            effects,
            `${JSON.stringify({ threadId, tool: taskQueue, did: 'acted', attempt, key })}\n`,
          )
          return { status: 'success', result: marked('charged') }
        },
      }),
    },
  })
}
