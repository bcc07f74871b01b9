import { z } from 'zod'

import {
  defineAgent,
  defineEffect,
  defineModel,
  definePrompt,
  defineTool,
  registry,
} from '../../src/index.js'
import { asset } from '../types/asset-subagent.js'
import { unscripted } from './unscripted.js'

const execute = (): never => {
  throw new Error('Expected the tool to be faked by the test.')
}
const paths = z.union([z.string(), z.array(z.string())]).optional()
const order = z.object({ task: z.string(), files: paths, title: z.string().optional() })
const bindings = {
  initUserMessageProperty: 'task',
  initAttachmentsProperty: 'files',
  initAgentNameProperty: 'title',
} as const

const voice = {
  toolDescription: 'Speaks',
  model: 'voice',
  includeChat: true,
  includePastTools: true,
} as const
const giveUp = { name: 'give_up', messageProperty: 'reason', attachmentsProperty: 'files' } as const
const approve = { name: 'approve', messageProperty: 'summary', attachmentsProperty: 'files' } as const
/** Writer and editor talk until the editor approves or the writer gives up. */
const pair = {
  type: 'dual_ai',
  sideA: { label: 'Writer', prompt: 'writer', sessionFail: giveUp },
  sideB: {
    label: 'Editor',
    prompt: 'editor',
    sessionStop: approve,
    sessionStatus: { name: 'note', messageProperty: 'text' },
  },
  exposeAsTool: true,
  toolDescription: 'Writes and edits',
} as const

/** The agents of the tests of conversations between agents; each test scripts the prompts of its own family of threads. */
export const familyDesk = registry({
  models: [defineModel({ name: 'voice', provider: unscripted, model: 'scripted' })],
  prompts: [
    definePrompt({
      ...voice,
      name: 'planner',
      prompt: 'You are the planner.',
      tools: [
        'plan',
        { name: 'pair', ...bindings },
        { name: 'capped_pair', ...bindings },
        { name: 'endless_pair', ...bindings },
        { name: 'asset_subagent', ...bindings },
        { name: 'ladder', initUserMessageProperty: 'task' },
        'bare_pair',
      ],
    }),
    definePrompt({
      ...voice,
      name: 'writer',
      prompt: 'You are the writer.',
      requiredSchema: order,
      tools: ['search', 'give_up', 'approve', 'hand_over'],
    }),
    definePrompt({
      ...voice,
      name: 'editor',
      prompt: 'You are the editor.',
      tools: ['note', 'approve', 'give_up', 'hand_over'],
    }),
    definePrompt({
      ...voice,
      name: 'climber',
      prompt: 'You are the climber.',
      requiredSchema: z.object({ task: z.string() }),
      tools: [{ name: 'ladder', initUserMessageProperty: 'task' }, 'approve'],
    }),
    definePrompt({ ...voice, name: 'watcher', prompt: 'You are the watcher.' }),
    definePrompt({
      ...voice,
      name: 'asset_worker',
      prompt: 'You make assets.',
      requiredSchema: order,
      tools: ['render', 'fail_asset'],
    }),
    definePrompt({
      ...voice,
      name: 'asset_reviewer',
      prompt: 'You review assets.',
      tools: ['approve_asset', 'update_asset_status'],
    }),
  ],
  agents: [
    defineAgent({ name: 'planner', sideA: { prompt: 'planner' } }),
    defineAgent({ ...pair, name: 'pair', title: 'Desk', description: 'Two who write', maxSessionTurns: 20 }),
    defineAgent({ ...pair, name: 'bare_pair', maxSessionTurns: 20 }),
    defineAgent({ ...pair, name: 'unlisted_pair', maxSessionTurns: 20 }),
    defineAgent({ ...pair, name: 'endless_pair' }),
    defineAgent({ ...pair, name: 'short_pair', maxSessionTurns: 3 }),
    defineAgent({
      ...pair,
      name: 'capped_pair',
      maxSessionTurns: 20,
      sideA: { prompt: 'writer', maxSteps: 2, sessionFail: giveUp },
    }),
    defineAgent({
      ...pair,
      name: 'tool_pair',
      maxSessionTurns: 20,
      sideA: { prompt: 'writer', stopOnResponse: false, stopTool: 'hand_over', sessionFail: giveUp },
      sideB: { prompt: 'editor', stopTool: 'hand_over', sessionStop: 'approve', sessionFail: 'give_up' },
    }),
    defineAgent({
      name: 'ladder',
      type: 'dual_ai',
      exposeAsTool: true,
      toolDescription: 'Goes one deeper',
      maxSessionTurns: 20,
      sideA: { prompt: 'climber', sessionStop: approve },
      sideB: { prompt: 'watcher' },
    }),
    asset,
  ],
  tools: {
    plan: defineTool({ description: 'Plans', execute }),
    search: defineTool({ description: 'Searches', args: z.object({ query: z.string() }), execute }),
    note: defineTool({ description: 'Takes a note', args: z.object({ text: z.string() }), execute }),
    hand_over: defineTool({ description: 'Ends the turn', execute }),
    render: defineTool({ description: 'Renders an asset', execute }),
    approve: defineTool({
      description: 'Ends the session well',
      args: z.object({ summary: z.string(), files: paths }),
      execute,
    }),
    give_up: defineTool({
      description: 'Ends the session badly',
      args: z.object({ reason: z.string(), files: paths }),
      execute,
    }),
    approve_asset: defineTool({
      description: 'Accepts the asset',
      args: z.object({ summary: z.string(), attachments: z.array(z.string()).optional() }),
      execute,
    }),
    update_asset_status: defineTool({
      description: 'Tells how far the asset is',
      args: z.object({ status: z.string() }),
      execute,
    }),
    fail_asset: defineTool({
      description: 'Gives up on the asset',
      args: z.object({ reason: z.string(), attachments: z.array(z.string()).optional() }),
      execute,
    }),
  },
  effects: {
    remind: defineEffect('Reminds', z.object({ note: z.string() }), async (state, { note }) => {
      await state.queueMessage({ role: 'user', silent: true, content: note })
    }),
  },
})

export type FamilyDesk = typeof familyDesk
