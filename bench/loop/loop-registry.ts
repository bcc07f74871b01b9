import type { LanguageModelV4 } from '@ai-sdk/provider'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from 'everthread'

export interface Loop {
  readonly model: LanguageModelV4
  /** @default 'You work step by step.' */
  readonly prompt?: string
  /** What the tool answers. @default 'ok' */
  readonly result?: () => string
  /** The authority that the tool needs. @default none */
  readonly capabilities?: readonly string[]
  /** Steps of one activity of a second agent, `ahead`. @default no such agent */
  readonly stepsAhead?: number
}

/** The agent `worker` with one tool. */
export function loopRegistry({
  model,
  prompt = 'You work step by step.',
  result = () => 'ok',
  capabilities,
  stepsAhead,
}: Loop) {
  const sideA = { prompt: 'worker' } as const
  return registry({
    models: [defineModel({ name: 'looping', provider: { languageModel: () => model }, model: 'looping' })],
    prompts: [
      definePrompt({
        name: 'worker',
        toolDescription: 'Works',
        prompt,
        model: 'looping',
        includeChat: true,
        includePastTools: true,
        tools: ['look_up'],
      }),
    ],
    agents: [
      defineAgent({ name: 'worker', sideA }),
      ...(stepsAhead === undefined ? [] : [defineAgent({ name: 'ahead', sideA, runAhead: stepsAhead })]),
    ],
    tools: {
      look_up: defineTool({
        description: 'Looks something up',
        ...(capabilities !== undefined && { capabilities }),
        execute: () => ({ status: 'success', result: result() }),
      }),
    },
  })
}
