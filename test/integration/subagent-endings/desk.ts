import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { z } from 'zod'

import {
  defineAgent,
  defineHook,
  defineModel,
  definePrompt,
  defineTool,
  registry,
} from '../../../src/index.js'

const order = z.object({ task: z.string(), files: z.array(z.string()).default([]) })
const MAPPED = { initUserMessageProperty: 'task', initAttachmentsProperty: 'files' } as const
const RESUMABLE = { receives_messages: 'side_a' } as const
const EXPLICIT = { receives_messages: 'side_a', parentCommunication: 'explicit' } as const
const voice = { model: 'chat', includeChat: true, includePastTools: true } as const

/** What a subagent's call can be, one agent for each; the agents are the same. */
const KIND_NAMES = ['once_wait', 'once_go', 'stay_wait', 'stay_go', 'quiet_wait', 'quiet_go'] as const
export type KindName = (typeof KIND_NAMES)[number]

/** `worker` does what its task says; `reviewer` cannot without LATE. */
function workerAgent<const Name extends string>(name: Name) {
  return defineAgent({
    name,
    type: 'dual_ai',
    exposeAsTool: true,
    toolDescription: 'Does a task',
    maxSessionTurns: 3,
    sideA: {
      prompt: 'worker',
      maxSteps: 3,
      sessionStop: { name: 'deliver', messageProperty: 'words', attachmentsProperty: 'files' },
      sessionFail: { name: 'give_up', messageProperty: 'words', attachmentsProperty: 'files' },
    },
    sideB: { prompt: 'reviewer' },
  })
}

/** A clerk with a subagent of each kind, and a ladder whose rungs each start the next one. */
export function endingsDesk({ modelUrl }: { readonly modelUrl: string }) {
  const provider = createOpenAICompatible({ name: 'mock', baseURL: modelUrl, apiKey: 'none' })
  return registry({
    models: [defineModel({ name: 'chat', provider, model: 'mock' })],
    prompts: [
      definePrompt({
        ...voice,
        name: 'clerk',
        toolDescription: 'Answers people',
        prompt: 'You are the clerk.',
        tools: [
          { name: 'once_wait', blocking: true, ...MAPPED },
          { name: 'once_go', blocking: false, ...MAPPED },
          { name: 'stay_wait', blocking: true, resumable: RESUMABLE },
          { name: 'stay_go', blocking: false, resumable: RESUMABLE },
          { name: 'quiet_wait', blocking: true, resumable: EXPLICIT },
          { name: 'quiet_go', blocking: false, resumable: EXPLICIT },
          { name: 'ladder', blocking: true, initUserMessageProperty: 'task' },
        ],
      }),
      definePrompt({
        ...voice,
        name: 'worker',
        toolDescription: 'Works',
        prompt: 'You are the worker.',
        requiredSchema: order,
        tools: ['deliver', 'give_up', 'look'],
        hooks: ['refuse_message', 'block_request'],
      }),
      definePrompt({
        ...voice,
        name: 'reviewer',
        toolDescription: 'Reviews',
        prompt: 'You are the reviewer.',
        variables: [{ name: 'LATE', type: 'text', required: true, description: 'What a reviewer needs' }],
      }),
      definePrompt({
        ...voice,
        name: 'climber',
        toolDescription: 'Climbs',
        prompt: 'You are the climber.',
        requiredSchema: z.object({ task: z.string() }),
        tools: [{ name: 'ladder', blocking: true, initUserMessageProperty: 'task' }, 'deliver'],
      }),
    ],
    agents: [
      defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } }),
      ...KIND_NAMES.map(workerAgent),
      defineAgent({
        name: 'ladder',
        type: 'dual_ai',
        exposeAsTool: true,
        toolDescription: 'Goes one deeper',
        maxSessionTurns: 3,
        sideA: { prompt: 'climber', sessionStop: { name: 'deliver', messageProperty: 'words' } },
        sideB: { prompt: 'reviewer' },
      }),
    ],
    tools: {
      deliver: endOfSession('Delivers the result'),
      give_up: endOfSession('Says that it cannot be done'),
      look: defineTool({
        description: 'Looks',
        execute: () => ({ status: 'success', result: 'Nothing yet.' }),
      }),
    },
    hooks: [
      defineHook({
        hook: 'before_create_message',
        id: 'refuse_message',
        execute: (_state, { content }) => {
          if (content?.includes('Task: refused') === true) throw new Error('Refused.')
        },
      }),
      defineHook({
        hook: 'prefilter_llm_history',
        id: 'block_request',
        execute: (_state, messages) => {
          const last = messages.findLast(({ role }) => role === 'user')
          if (JSON.stringify(last).includes('Task: forbidden'))
            throw Object.assign(new Error('Forbidden.'), { block: true })
        },
      }),
    ],
  })
}

function endOfSession(description: string) {
  return defineTool({
    description,
    args: z.object({ words: z.string(), files: z.array(z.string()).default([]) }),
    execute: () => ({ status: 'success' }),
  })
}
