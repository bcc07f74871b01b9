import { defineAgent, defineModel, definePrompt, defineTool, registry } from 'everthread'
import { z } from 'zod'

import { benchModel, DONE, toolCall } from '../loop/model-parts.js'

/** What the sender hands to its subagent in its next turn. */
export interface Handed {
  files: readonly string[]
}

const voice = { toolDescription: 'Works', includeChat: true, includePastTools: true } as const
const DELIVER = toolCall('deliver', { text: 'Got it.' })

/** An agent that hands files to a subagent, which ends at once. */
export function attachRegistry(handed: Handed) {
  const sending = benchModel('sending', ({ prompt }) =>
    // After the subagent's result the turn ends.
    prompt.at(-1)?.role === 'tool' ? DONE : toolCall('receiver', { task: 'Take these.', ...handed }),
  )
  const receiving = benchModel('receiving', () => DELIVER)
  return registry({
    models: [
      defineModel({ name: 'sending', provider: { languageModel: () => sending }, model: 'sending' }),
      defineModel({ name: 'receiving', provider: { languageModel: () => receiving }, model: 'receiving' }),
    ],
    prompts: [
      definePrompt({
        ...voice,
        name: 'sender',
        prompt: 'You send.',
        model: 'sending',
        tools: [{ name: 'receiver', initUserMessageProperty: 'task', initAttachmentsProperty: 'files' }],
      }),
      definePrompt({
        ...voice,
        name: 'receiving',
        prompt: 'You receive.',
        model: 'receiving',
        requiredSchema: z.object({ task: z.string(), files: z.array(z.string()).default([]) }),
        tools: ['deliver'],
      }),
    ],
    agents: [
      defineAgent({ name: 'sender', sideA: { prompt: 'sender' } }),
      defineAgent({
        name: 'receiver',
        type: 'dual_ai',
        exposeAsTool: true,
        toolDescription: 'Receives files',
        maxSessionTurns: 2,
        sideA: { prompt: 'receiving', sessionStop: { name: 'deliver', messageProperty: 'text' } },
        sideB: { prompt: 'receiving' },
      }),
    ],
    tools: {
      deliver: defineTool({
        description: 'Ends the work',
        args: z.object({ text: z.string() }),
        execute: () => ({ status: 'success' }),
      }),
    },
  })
}
