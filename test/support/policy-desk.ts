import { z } from 'zod'

import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import { unscripted } from './unscripted.js'

const execute = (): never => {
  throw new Error('Expected the tool to be faked by the test.')
}
const task = z.object({ task: z.string() })
const voice = {
  toolDescription: 'Speaks',
  model: 'voice',
  includeChat: true,
  includePastTools: true,
} as const

/** Works until it approves of its own work. */
function pair<const Name extends string>(name: Name, capability: string) {
  return defineAgent({
    name,
    type: 'dual_ai',
    sideA: { prompt: 'worker' },
    sideB: { prompt: 'judge', sessionStop: { name: 'approve', messageProperty: 'summary' } },
    exposeAsTool: true,
    toolDescription: `Works as ${name}`,
    capabilities: [capability],
  })
}

/** A seller with one callable of each kind, each with a capability of its own. */
export const policyDesk = registry({
  models: [defineModel({ name: 'voice', provider: unscripted, model: 'scripted' })],
  prompts: [
    definePrompt({
      ...{ ...voice, name: 'seller', prompt: 'You sell.' },
      tools: [
        'look',
        'note',
        'refund',
        'delegate',
        { name: 'draft', initUserMessageProperty: 'task' },
        { name: 'chief', initUserMessageProperty: 'task' },
        { name: 'runner', initUserMessageProperty: 'task' },
        {
          name: 'resident',
          blocking: false,
          resumable: { receives_messages: 'side_a', parentCommunication: 'explicit' },
          initUserMessageProperty: 'task',
        },
      ],
    }),
    definePrompt({
      ...{ ...voice, name: 'draft', prompt: 'You draft.', requiredSchema: task },
      capabilities: ['texts.draft'],
      tools: ['refund'],
    }),
    definePrompt({ ...voice, name: 'boss', prompt: 'You lead.', requiredSchema: task, tools: ['refund'] }),
    definePrompt({ ...voice, name: 'worker', prompt: 'You work.', requiredSchema: task, tools: ['refund'] }),
    definePrompt({ ...voice, name: 'judge', prompt: 'You judge.', tools: ['approve'] }),
  ],
  agents: [
    defineAgent({ name: 'seller', sideA: { prompt: 'seller' } }),
    defineAgent({
      name: 'junior',
      sideA: { prompt: 'seller' },
      permissions: { 'orders.refund': 'require_approval' },
    }),
    defineAgent({
      name: 'chief',
      sideA: { prompt: 'boss' },
      exposeAsTool: true,
      toolDescription: 'Takes over',
      capabilities: ['people.hand_over'],
    }),
    pair('runner', 'agents.run'),
    pair('resident', 'agents.keep'),
  ],
  tools: {
    look: defineTool({
      description: 'Looks at an order',
      args: task,
      capabilities: ['orders.read'],
      readOnly: true,
      execute,
    }),
    note: defineTool({ description: 'Writes a note', args: task, execute }),
    refund: defineTool({
      description: 'Pays money back',
      args: task,
      capabilities: ['orders.refund'],
      destructive: { impact: 'The money is gone.', undo: 'Charge again.' },
      execute,
    }),
    delegate: defineTool({ description: 'Refunds by its own code', args: task, execute }),
    approve: defineTool({ description: 'Ends the work', args: z.object({ summary: z.string() }), execute }),
  },
})

export type PolicyDesk = typeof policyDesk
