import { appendFileSync } from 'node:fs'

import { Context } from '@temporalio/activity'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { z } from 'zod'

import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../../src/index.js'
import { marked } from '../../support/marker.js'
import type { Effect } from './desk.js'
import type { WorkerPlace } from './run-worker.js'

const work = z.object({ task: z.string() })

/** A clerk whose model and whose one tool have task queues of their own. */
export function queuesDesk({ modelUrl, effects, taskQueue, threadQueue = taskQueue }: WorkerPlace) {
  const provider = createOpenAICompatible({ name: 'mock', baseURL: modelUrl, apiKey: 'none' })
  const write = (effect: Omit<Effect, 'did' | 'fairnessKey'>): void => {
    const { priority } = Context.current().info
    const fairnessKey = priority?.fairnessKey ?? null
    appendFileSync(effects, `${JSON.stringify({ ...effect, did: 'acted', fairnessKey })}\n`)
  }
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
        tools: ['book', 'charge', { name: 'research', initUserMessageProperty: 'question' }],
      }),
      definePrompt({
        name: 'researcher',
        toolDescription: 'Researches a question',
        prompt: 'You are the researcher.',
        model: 'chat',
        includeChat: true,
        includePastTools: true,
        requiredSchema: z.object({ question: z.string() }),
        tools: ['deliver'],
      }),
    ],
    agents: [
      defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } }),
      defineAgent({
        name: 'research',
        type: 'dual_ai',
        maxSessionTurns: 4,
        exposeAsTool: true,
        toolDescription: 'Has a question researched',
        sideA: { prompt: 'researcher', sessionStop: 'deliver' },
        sideB: { prompt: 'clerk' },
      }),
    ],
    tools: {
      book: defineTool({
        description: 'Books where threads run',
        args: work,
        execute: () => ({ status: 'success', result: marked('booked') }),
      }),
      deliver: defineTool({
        description: 'Delivers the result',
        execute: ({ threadId }) => {
          write({ threadId, tool: 'deliver', attempt: 1, key: 'none' })
          return { status: 'success' }
        },
      }),
      charge: defineTool({
        description: 'Charges elsewhere',
        args: work,
        taskQueue: `${threadQueue}-gpu`,
        execute({ threadId }, _args, { attempt, idempotencyKey: key }) {
          write({ threadId, tool: taskQueue, attempt, key })
          return { status: 'success', result: marked('charged') }
        },
      }),
    },
  })
}
