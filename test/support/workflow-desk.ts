import { z } from 'zod'

import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'

const provider = {
  languageModel(): never {
    throw new Error('Expected the model to be scripted by the test.')
  },
}
const execute = (): never => {
  throw new Error('Expected the tool to be faked by the test.')
}
const task = z.object({ task: z.string() })

/** The agents of the workflow tests: models and tools are scripted by each test for its own thread. */
export const workflowDesk = registry({
  models: [
    defineModel({ name: 'chat', provider, model: 'scripted' }),
    defineModel({ name: 'review', provider, model: 'scripted' }),
  ],
  prompts: [
    definePrompt({
      name: 'clerk',
      toolDescription: 'Answers people',
      prompt: 'You are the clerk.',
      model: 'chat',
      includeChat: true,
      includePastTools: true,
      tools: ['work', 'other', 'third', 'strict', 'slow', 'finish', 'close_case', 'give_up'],
    }),
    definePrompt({
      name: 'auditor',
      toolDescription: 'Checks what others did',
      prompt: 'You are the auditor.',
      model: 'review',
      includeChat: true,
    }),
  ],
  agents: [
    defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } }),
    defineAgent({ name: 'auditor', sideA: { prompt: 'auditor' } }),
    defineAgent({ name: 'capped', sideA: { prompt: 'clerk', maxSteps: 3 } }),
    defineAgent({
      name: 'closer',
      sideA: {
        prompt: 'clerk',
        stopTool: 'finish',
        sessionStop: { name: 'close_case', messageProperty: 'summary' },
        sessionFail: { name: 'give_up', messageProperty: 'reason' },
      },
    }),
  ],
  tools: {
    work: defineTool({ description: 'Does some work', args: task, execute }),
    other: defineTool({ description: 'Does other work', args: task, execute }),
    third: defineTool({ description: 'Does yet other work', args: task, execute }),
    strict: defineTool({
      description: 'Counts',
      args: z.object({ count: z.number().int().min(1), unit: z.string().default('box') }),
      execute,
    }),
    slow: defineTool({ description: 'Takes too long', args: task, timeout: 200, execute }),
    finish: defineTool({ description: 'Ends the turn', execute }),
    close_case: defineTool({
      description: 'Closes the case',
      args: z.object({ summary: z.string() }),
      execute,
    }),
    give_up: defineTool({ description: 'Gives up', args: z.object({ reason: z.string() }), execute }),
  },
})

export type WorkflowDesk = typeof workflowDesk
