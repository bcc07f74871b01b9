import { z } from 'zod'

import {
  defineAgent,
  defineModel,
  definePrompt,
  defineRemoteTool,
  defineTool,
  registry,
} from '../../src/index.js'
import { unscripted } from './unscripted.js'

const execute = (): never => {
  throw new Error('Expected no call.')
}
const task = z.object({ task: z.string() })
const speaks = { toolDescription: 'Speaks', model: 'voice' } as const
const flag = (name: string, fields: object = {}) => ({
  ...({ name, type: 'text', required: false, description: 'Enables a subagent' } as const),
  ...fields,
})
const resumable = { receives_messages: 'side_a' } as const

/** Works until it approves of its own work. */
function pair<const Name extends string>(name: Name, capabilities?: readonly string[]) {
  return defineAgent({
    name,
    type: 'dual_ai',
    sideA: { prompt: 'worker' },
    sideB: { prompt: 'judge', sessionStop: 'approve' },
    exposeAsTool: true,
    toolDescription: `Works as ${name}`,
    ...(capabilities === undefined ? {} : { capabilities }),
  })
}

/** An agent with a tool of each kind, and one for each reason why tools are not offered. No call is made. */
export const inventoryDesk = registry({
  models: [
    defineModel({ name: 'voice', provider: unscripted, model: 'm' }),
    defineModel({
      ...{ name: 'mute', provider: unscripted, model: 'm', capabilities: { supportsToolCalls: false } },
    }),
    defineModel({
      ...{ name: 'hoarse', provider: unscripted, model: 'm', capabilities: { supportsToolCalls: false } },
      fallbacks: ['voice'],
    }),
  ],
  prompts: [
    definePrompt({
      ...{ ...speaks, name: 'every', prompt: 'You have all.' },
      tools: ['look', 'refund', 'ship', 'weigh', 'far', 'draft', 'chief', 'runner', 'keeper'],
    }),
    definePrompt({
      ...{ ...speaks, name: 'flagged', prompt: 'You have flags.' },
      variables: [
        flag('PLAIN'),
        flag('OF_AGENT'),
        flag('OF_WORKER'),
        flag('KEPT'),
        flag('OWN', { scoped: true }),
      ],
      tools: [
        'look',
        { name: 'runner', optional: 'PLAIN' },
        { name: 'second', optional: 'HIDDEN' },
        { name: 'third', optional: 'OF_AGENT' },
        { name: 'fourth', optional: 'OF_WORKER' },
        { name: 'fifth', optional: 'OWN' },
        { name: 'keeper', resumable, optional: 'KEPT' },
        { name: 'resident', resumable, optional: 'PLAIN' },
      ],
    }),
    definePrompt({
      ...{ ...speaks, name: 'instances', prompt: 'You have instances.' },
      tools: [
        { name: 'keeper', resumable },
        { name: 'resident', resumable },
      ],
    }),
    definePrompt({
      ...{ ...speaks, name: 'draft', prompt: 'You draft.', requiredSchema: task },
      capabilities: ['texts.draft'],
    }),
    definePrompt({ ...speaks, name: 'boss', prompt: 'You lead.' }),
    definePrompt({ ...speaks, name: 'worker', prompt: 'You work.', tools: ['look'] }),
    definePrompt({ ...speaks, name: 'judge', prompt: 'You judge.', tools: ['approve'] }),
    definePrompt({ ...speaks, name: 'silent', prompt: 'You read.', model: 'mute', tools: ['look'] }),
    definePrompt({ ...speaks, name: 'rescued', prompt: 'You read.', model: 'hoarse', tools: ['look'] }),
    definePrompt({ ...speaks, name: 'told', prompt: 'You talk.', toolChoice: 'none', tools: ['look'] }),
  ],
  agents: [
    defineAgent({ name: 'every', sideA: { prompt: 'every' } }),
    defineAgent({
      name: 'ruled',
      sideA: { prompt: 'every' },
      permissions: { 'orders.*': 'require_approval' },
    }),
    defineAgent({ name: 'flagged', sideA: { prompt: 'flagged' }, env: { OF_AGENT: ' Yes ' } }),
    defineAgent({ name: 'instances', sideA: { prompt: 'instances' } }),
    defineAgent({ name: 'silent', sideA: { prompt: 'silent' } }),
    defineAgent({ name: 'rescued', sideA: { prompt: 'rescued' } }),
    defineAgent({ name: 'told', sideA: { prompt: 'told' } }),
    defineAgent({
      ...{ name: 'chief', sideA: { prompt: 'boss' }, exposeAsTool: true, toolDescription: 'Takes over' },
      capabilities: ['people.hand_over'],
    }),
    pair('runner', ['agents.run']),
    pair('second'),
    pair('third'),
    pair('fourth'),
    pair('fifth'),
    pair('keeper', ['agents.keep']),
    pair('resident'),
  ],
  tools: {
    look: defineTool({
      ...{
        description: 'Looks',
        args: task,
        capabilities: ['orders.read'],
        readOnly: true,
        idempotent: true,
      },
      execute,
    }),
    refund: defineTool({
      ...{ description: 'Pays back', args: task, capabilities: ['orders.refund'] },
      ...{
        destructive: { impact: 'The money is gone.', undo: 'Charge again.' },
        needsApproval: true,
        execute,
      },
    }),
    ship: defineTool({ description: 'Ships', timeout: 1_000, taskQueue: 'trucks', execute }),
    weigh: defineTool({ description: 'Weighs', args: task, needsApproval: () => false, execute }),
    far: defineRemoteTool({
      ...{ description: 'Runs elsewhere', taskQueue: 'python', activity: 'far', readOnly: true },
    }),
    approve: defineTool({ description: 'Ends the work', execute }),
  },
})
