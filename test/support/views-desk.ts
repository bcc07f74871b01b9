/** Agents whose one conversation has something of everything that a view shows. */
import { z } from 'zod'
import { defineAgent, defineHook, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
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

export const viewsDesk = registry({
  models: [
    defineModel({
      ...{ name: 'voice', provider: unscripted, model: 'scripted' },
      ...{ inputPrice: 2, outputPrice: 10 },
    }),
  ],
  prompts: [
    definePrompt({
      ...{ ...voice, name: 'host', prompt: 'You welcome guests.' },
      variables: [{ name: 'OWNER', type: 'text', required: true, description: 'Whose house it is' }],
      tools: [
        ...(['look', 'refund', 'store'] as const),
        { name: 'draft', initUserMessageProperty: 'task' },
        { name: 'chief', initUserMessageProperty: 'task' },
        { name: 'runner', initUserMessageProperty: 'task' },
      ],
    }),
    definePrompt({ ...voice, name: 'draft', prompt: 'You draft.', requiredSchema: task }),
    definePrompt({ ...voice, name: 'boss', prompt: 'You lead.', requiredSchema: task }),
    definePrompt({ ...voice, name: 'worker', prompt: 'You work.', requiredSchema: task }),
    definePrompt({ ...voice, name: 'judge', prompt: 'You judge.', tools: ['approve'] }),
  ],
  agents: [
    defineAgent({
      ...{ name: 'host', sideA: { prompt: 'host' }, hooks: ['watch'] },
      budget: { maxModelCalls: 9 },
    }),
    defineAgent({
      ...{ name: 'chief', sideA: { prompt: 'boss' }, exposeAsTool: true, toolDescription: 'Takes over' },
    }),
    defineAgent({
      ...{ name: 'runner', type: 'dual_ai', sideA: { prompt: 'worker' } },
      sideB: { prompt: 'judge', sessionStop: { name: 'approve', messageProperty: 'summary' } },
      ...{ exposeAsTool: true, toolDescription: 'Works for you' },
    }),
  ],
  hooks: [defineHook({ hook: 'before_tool_call', id: 'watch', timeout: 1_000, execute: () => null })],
  tools: {
    look: defineTool({ description: 'Looks at an order', args: task, execute }),
    refund: defineTool({
      description: 'Pays money back',
      args: task,
      capabilities: ['orders.refund'],
      execute,
    }),
    store: defineTool({ description: 'Writes a file', args: task, execute }),
    approve: defineTool({ description: 'Ends the work', args: z.object({ summary: z.string() }), execute }),
  },
})
