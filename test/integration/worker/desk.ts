import { appendFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { z } from 'zod'

import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../../src/index.js'
import type { ThreadState, ToolCall, ToolResult } from '../../../src/index.js'
import { marked } from '../../support/marker.js'
import { treeAgents, treePrompts, treeTools } from './tree-desk.js'

/** Longer than any test: only an abort or the end of the process ends it. */
const FOREVER = 600_000

interface Place {
  /** Of the model's own process. */
  readonly modelUrl: string
  /** Tools append a line for each thing that they do. */
  readonly effects: string
  /** Of the agents: what the clerk is told. @default '1' */
  readonly version?: string
}

/** One thing that a tool did, written down outside of Everthread. */
export interface Effect {
  readonly threadId: string
  readonly tool: string
  readonly did: 'acted' | 'aborted'
  readonly attempt: number
  readonly key: string
  /** Of the task in which it was done, where a desk looks. */
  readonly fairnessKey?: string | null
}

const work = z.object({ task: z.string(), hold: z.boolean().default(false) })

/** The agents of the integration tests: a model in another process, and tools whose effects others can count. */
export function integrationDesk({ modelUrl, effects, version = '1' }: Place) {
  const provider = createOpenAICompatible({ name: 'mock', baseURL: modelUrl, apiKey: 'none' })
  const write = (effect: Effect): void => appendFileSync(effects, `${JSON.stringify(effect)}\n`)

  const acting =
    (tool: string) =>
    async (state: ThreadState, args: z.output<typeof work>, call: ToolCall): Promise<ToolResult> => {
      const effect = { threadId: state.threadId, tool, attempt: call.attempt, key: call.idempotencyKey }
      write({ ...effect, did: 'acted' })
      if (args.hold) call.output(marked(`attempt ${call.attempt} `))
      if (args.hold && call.attempt === 1) {
        await delay(FOREVER, undefined, { signal: state.execution?.abortSignal }).catch(() => undefined)
        write({ ...effect, did: 'aborted' })
      }
      return { status: 'success', result: marked(`${tool} done`) }
    }

  return registry({
    models: [defineModel({ name: 'chat', provider, model: 'mock' })],
    prompts: [
      definePrompt({
        name: 'clerk',
        toolDescription: 'Answers people',
        prompt: version === '1' ? 'You are the clerk.' : `You are the clerk, version ${version}.`,
        model: 'chat',
        includeChat: true,
        includePastTools: true,
        tools: [
          'book',
          'charge',
          { name: 'research', initUserMessageProperty: 'question', initAttachmentsProperty: 'files' },
        ],
      }),
      definePrompt({
        name: 'researcher',
        toolDescription: 'Researches a question',
        prompt: 'You are the researcher.',
        model: 'chat',
        includeChat: true,
        includePastTools: true,
        requiredSchema: z.object({ question: z.string(), files: z.array(z.string()).default([]) }),
        tools: ['deliver'],
      }),
      ...treePrompts,
    ],
    agents: [
      defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } }),
      defineAgent({
        name: 'research',
        type: 'dual_ai',
        maxSessionTurns: 4,
        exposeAsTool: true,
        toolDescription: 'Has a question researched',
        sideA: {
          prompt: 'researcher',
          sessionStop: { name: 'deliver', messageProperty: 'summary', attachmentsProperty: 'files' },
        },
        sideB: { prompt: 'clerk' },
      }),
      ...treeAgents,
    ],
    tools: {
      book: defineTool({ description: 'Books, once', args: work, execute: acting('book') }),
      charge: defineTool({
        description: 'Charges; safe to repeat',
        args: work,
        idempotent: true,
        execute: acting('charge'),
      }),
      deliver: defineTool({
        description: 'Delivers the result',
        args: z.object({ summary: z.string(), files: z.array(z.string()).default([]) }),
        // A kill in its middle would else end the session without a result.
        idempotent: true,
        execute: () => ({ status: 'success' }),
      }),
      ...treeTools,
    },
  })
}
