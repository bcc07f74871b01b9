import { openai } from '@ai-sdk/openai'
import { defineAgent, defineModel, definePrompt, registry } from 'everthread'

import * as tools from './tools.ts'

const chat = defineModel({ name: 'chat', provider: openai, model: 'gpt-5-mini' })

const asset_worker = definePrompt({
  name: 'asset_worker',
  toolDescription: 'Makes assets',
  model: 'chat',
  includeChat: true,
  includePastTools: true,
  prompt: 'Make the asset that is asked for with write_asset. A reviewer looks at each draft.',
  tools: ['write_asset', 'fail_asset'],
})

const asset_reviewer = definePrompt({
  name: 'asset_reviewer',
  toolDescription: 'Reviews assets',
  model: 'chat',
  includeChat: true,
  prompt: 'Object to what is wrong with the draft. When nothing is left, approve it with its path.',
  tools: ['update_asset_status', 'approve_asset'],
})

/** The reference example of Standard Agents: two models talk until one of them ends the session. */
const asset_subagent = defineAgent({
  name: 'asset_subagent',
  type: 'dual_ai',
  maxSessionTurns: 40,
  exposeAsTool: true,
  toolDescription: 'Have an asset made and reviewed.',
  sideA: {
    label: 'Worker',
    prompt: 'asset_worker',
    stopOnResponse: true,
    sessionFail: { name: 'fail_asset', messageProperty: 'reason', attachmentsProperty: 'attachments' },
  },
  sideB: {
    label: 'Reviewer',
    prompt: 'asset_reviewer',
    stopOnResponse: false,
    sessionStop: { name: 'approve_asset', messageProperty: 'summary', attachmentsProperty: 'attachments' },
    sessionStatus: { name: 'update_asset_status', messageProperty: 'status' },
  },
})

export const studio = registry({
  agents: [asset_subagent],
  prompts: [asset_worker, asset_reviewer],
  models: [chat],
  tools,
})
