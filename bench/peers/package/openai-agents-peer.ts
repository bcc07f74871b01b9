import { createRequire } from 'node:module'

import type { AgentInputItem } from '@openai/agents-core'
import { OpenAIAgentsPlugin } from '@temporalio/openai-agents'
import type { BundleOptions } from '@temporalio/worker'

import { openAiAgentsProvider } from './openai-agents-model.js'
import type { OpenAiAgentsInput } from './openai-agents-workflow.js'
import type { Peer } from './peer.js'
import type { Turn } from './turn.js'

/** `@temporalio/openai-agents`: the runner of the OpenAI Agents SDK in a workflow. */
export function openAiAgentsPeer(turn: Turn): Peer {
  return {
    plugin: new OpenAIAgentsPlugin({ modelProvider: openAiAgentsProvider(turn) }),
    workflow: {
      workflowsPath: new URL('openai-agents-workflow.ts', import.meta.url).pathname,
      webpackConfigHook: withOneBuild,
    },
    workflowType: 'openAiAgentsTurn',
    turnInput: (results, maxTurns): OpenAiAgentsInput => ({
      items: [
        { role: 'user', content: 'Look it all up.' },
        ...results.flatMap(callWithResult),
        { role: 'user', content: 'Go on.' },
      ],
      maxTurns,
    }),
  }
}

/**
 * The Agents SDK as a CommonJS project bundles it, which the README's is. An ES module would bring its other build beside
 * the one that the integration requires, with chunks that a workflow cannot load.
 */
const withOneBuild: NonNullable<BundleOptions['webpackConfigHook']> = (config) => ({
  ...config,
  resolve: {
    ...config.resolve,
    alias: {
      ...config.resolve?.alias,
      '@openai/agents-core$': createRequire(import.meta.url).resolve('@openai/agents-core'),
    },
  },
})

function callWithResult(text: string, page: number): AgentInputItem[] {
  const call = { callId: `past-${page}`, name: 'lookUp', status: 'completed' } as const
  return [
    { type: 'function_call', ...call, arguments: JSON.stringify({ page }) },
    { type: 'function_call_result', ...call, output: { type: 'text', text } },
  ]
}
