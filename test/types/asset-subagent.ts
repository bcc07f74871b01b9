import { z } from 'zod'

import type { LanguageModelProvider } from '../../src/index.js'

import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'

/** The reference example of Standard Agents, section 8 of its page on agents. */
export const asset = defineAgent({
  name: 'asset_subagent',
  type: 'dual_ai',
  maxSessionTurns: 40,
  exposeAsTool: true,
  toolDescription: 'Generate and QA top-down game assets.',
  sideA: {
    label: 'Worker',
    prompt: 'asset_worker',
    stopOnResponse: true,
    sessionFail: {
      name: 'fail_asset',
      messageProperty: 'reason',
      attachmentsProperty: 'attachments',
    },
  },
  sideB: {
    label: 'Reviewer',
    prompt: 'asset_reviewer',
    stopOnResponse: false,
    sessionStop: {
      name: 'approve_asset',
      messageProperty: 'summary',
      attachmentsProperty: 'attachments',
    },
    sessionStatus: {
      name: 'update_asset_status',
      messageProperty: 'status',
    },
  },
})

const provider: LanguageModelProvider = {
  languageModel() {
    throw new Error('Expected no test of types to call a model.')
  },
}
const attachments = z.array(z.string()).default([])

/** The example with all that it refers to. */
export const assetRegistry = registry({
  agents: [asset],
  prompts: [
    definePrompt({
      name: 'asset_worker',
      toolDescription: 'Draws',
      prompt: 'Draw the asset.',
      model: 'painter',
      includeChat: true,
      tools: ['fail_asset'],
    }),
    definePrompt({
      name: 'asset_reviewer',
      toolDescription: 'Reviews',
      prompt: 'Review the asset.',
      model: 'painter',
      includeChat: true,
      tools: ['approve_asset', 'update_asset_status'],
    }),
  ],
  models: [defineModel({ name: 'painter', provider, model: 'large' })],
  tools: {
    fail_asset: defineTool({
      description: 'Gives up.',
      args: z.object({ reason: z.string(), attachments }),
      execute: () => ({ status: 'success' }),
    }),
    approve_asset: defineTool({
      description: 'Approves the asset.',
      args: z.object({ summary: z.string(), attachments }),
      execute: () => ({ status: 'success' }),
    }),
    update_asset_status: defineTool({
      description: 'Tells how far it is.',
      args: z.object({ status: z.string() }),
      execute: () => ({ status: 'success' }),
    }),
  },
})
