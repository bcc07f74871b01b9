import { z } from 'zod'

import { defineAgent, defineHook, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import type { HookPoints } from '../../src/index.js'
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

/** What the hooks of the agent `watched` do; each test sets them. */
export const deskHooks: {
  guard: HookPoints['before_tool_call']
  standIn: HookPoints['before_permission_request']
} = { guard: () => null, standIn: () => null }

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
    defineAgent({ name: 'watched', sideA: { prompt: 'seller' }, hooks: ['guard', 'stand_in'] }),
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
  hooks: [
    defineHook({
      hook: 'before_tool_call',
      id: 'guard',
      timeout: 1_000,
      execute: (...given) => deskHooks.guard(...given),
    }),
    defineHook({
      hook: 'before_permission_request',
      id: 'stand_in',
      timeout: 1_000,
      execute: (...given) => deskHooks.standIn(...given),
    }),
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
