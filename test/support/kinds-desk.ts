import { z } from 'zod'

import {
  defineAgent,
  defineEffect,
  defineModel,
  definePrompt,
  defineTool,
  registry,
} from '../../src/index.js'
import type { SideConfig } from '../../src/index.js'
import { unscripted } from './unscripted.js'

const execute = (): never => {
  throw new Error('Expected the tool to be faked by the test.')
}
const paths = z.union([z.string(), z.array(z.string())]).optional()
const order = z.object({ task: z.string(), title: z.string().optional(), files: paths })
const mapped = {
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
const secret = { type: 'secret', required: true, scoped: true, description: 'Of this agent alone' } as const
const optional = { type: 'text', required: false } as const

/** Worker and judge talk until the judge approves or the worker gives up. */
function pair<const Name extends string>(name: Name, prompt: 'worker' | 'locksmith' | 'relay_desk') {
  return defineAgent({
    name,
    type: 'dual_ai',
    sideA: {
      prompt,
      sessionFail: { name: 'give_up', messageProperty: 'reason', attachmentsProperty: 'files' },
    },
    sideB: {
      prompt: 'judge',
      sessionStop: { name: 'approve', messageProperty: 'summary', attachmentsProperty: 'files' },
      sessionStatus: { name: 'note', messageProperty: 'text' },
    },
    maxSessionTurns: 20,
    exposeAsTool: true,
    toolDescription: `Works as ${name}`,
  })
}

type Bindings = Pick<SideConfig, 'sessionStop' | 'sessionFail' | 'sessionStatus'>
const asObjects: Bindings = {
  sessionStop: { name: 'approve', messageProperty: 'summary' },
  sessionFail: { name: 'give_up', messageProperty: 'reason' },
  sessionStatus: { name: 'note', messageProperty: 'text' },
}
const asNames: Bindings = { sessionStop: 'approve', sessionFail: 'give_up', sessionStatus: 'note' }

/** Sides that may both call all session tools, where these are bound. */
function peers<const Name extends string>(name: Name, a: Bindings, b: Bindings) {
  return defineAgent({
    ...{
      name,
      type: 'dual_ai',
      maxSessionTurns: 20,
      exposeAsTool: true,
      toolDescription: `Works as ${name}`,
    },
    sideA: { prompt: 'peer_a', ...a },
    sideB: { prompt: 'peer_b', ...b },
  })
}

/** Agents that have subagents of every kind; each test scripts the prompts of its own family of threads. */
export const kindsDesk = registry({
  models: [defineModel({ name: 'voice', provider: unscripted, model: 'scripted' })],
  prompts: [
    definePrompt({
      ...voice,
      name: 'lead',
      prompt: 'You lead.',
      tools: [
        'act',
        { name: 'helper', timeout: 3_600_000, ...mapped },
        { name: 'runner', blocking: false, ...mapped },
        { name: 'crew', fanOut: true, ...mapped },
        { name: 'scouts', fanOut: true, blocking: false, ...mapped },
        { name: 'vault', ...mapped },
        { name: 'relay', ...mapped },
        {
          name: 'resident',
          timeout: 7_200_000,
          resumable: { receives_messages: 'side_a', maxInstances: 1 },
          ...mapped,
        },
        { name: 'boarder', blocking: false, resumable: { receives_messages: 'side_a' }, ...mapped },
        { name: 'second', blocking: false, resumable: { receives_messages: 'side_b' }, ...mapped },
        {
          ...{ name: 'hermit', blocking: false, ...mapped },
          resumable: { receives_messages: 'side_a', parentCommunication: 'explicit' },
        },
        {
          ...{ name: 'recluse', ...mapped },
          resumable: { receives_messages: 'side_a', parentCommunication: 'explicit' },
        },
        { name: 'guest', resumable: { receives_messages: 'side_a' }, ...mapped },
      ],
    }),
    definePrompt({
      ...{ ...voice, name: 'chair', prompt: 'You chair.' },
      tools: [
        { name: 'left', ...mapped },
        { name: 'right', ...mapped },
        { name: 'even', ...mapped },
      ],
    }),
    definePrompt({
      ...{ ...voice, name: 'peer_a', prompt: 'You begin.' },
      ...{ requiredSchema: order, tools: ['approve', 'give_up', 'note'] },
    }),
    definePrompt({
      ...{ ...voice, name: 'peer_b', prompt: 'You reply.' },
      tools: ['approve', 'give_up', 'note'],
    }),
    definePrompt({
      ...voice,
      name: 'switched',
      prompt: 'You lead while flags allow it.',
      variables: [
        { ...optional, name: 'WITH_KEEPER', description: 'Switches the keeper on' },
        { ...optional, name: 'WITH_ERRAND', description: 'Switches the errand on' },
      ],
      tools: [
        { name: 'errand', optional: 'WITH_ERRAND', ...mapped },
        { name: 'keeper', optional: 'WITH_KEEPER', resumable: { receives_messages: 'side_a' }, ...mapped },
      ],
    }),
    definePrompt({
      ...voice,
      name: 'host',
      prompt: 'You host.',
      env: { GUIDE_NAME: 'Virgil', GUIDE_TASK: 'Show the way', PLACE: 'Florence' },
      variables: [{ ...optional, name: 'TORCH', type: 'secret', description: 'Handed to the guide' }],
      tools: [
        {
          ...{ name: 'guide', ...mapped },
          immediate: { nameEnv: 'GUIDE_NAME', descriptionEnv: 'GUIDE_TASK', scopedEnv: ['TORCH', 'PLACE'] },
        },
        'host_desk',
      ],
    }),
    definePrompt({
      ...voice,
      name: 'opener',
      prompt: 'You open.',
      tools: ['act', 'host_desk', { name: 'ready', immediate: true }],
    }),
    definePrompt({
      ...voice,
      name: 'worker',
      prompt: 'You work.',
      requiredSchema: order,
      tools: ['act', 'ask', 'give_up'],
    }),
    definePrompt({ ...voice, name: 'judge', prompt: 'You judge.', tools: ['act', 'approve', 'note'] }),
    definePrompt({
      ...voice,
      name: 'relay_desk',
      prompt: 'You pass on.',
      requiredSchema: order,
      tools: ['act', 'give_up', { name: 'vault', ...mapped }],
    }),
    definePrompt({
      ...voice,
      name: 'locksmith',
      prompt: 'You open locks.',
      requiredSchema: order,
      variables: [{ ...secret, name: 'LOCK_KEY' }],
      tools: ['act', 'give_up'],
    }),
    definePrompt({
      ...voice,
      name: 'idler',
      prompt: 'You are ready.',
      tools: ['act', { name: 'chained', immediate: true }],
    }),
    definePrompt({ ...voice, name: 'last', prompt: 'You are the last.', tools: ['act'] }),
    definePrompt({
      ...voice,
      name: 'second_side',
      prompt: 'You answer.',
      tools: ['approve', { name: 'chained', immediate: true }],
    }),
  ],
  agents: [
    defineAgent({ name: 'lead', sideA: { prompt: 'lead' } }),
    defineAgent({ name: 'chair', sideA: { prompt: 'chair' } }),
    peers('left', asObjects, {}),
    peers('right', {}, asObjects),
    peers('even', asNames, asObjects),
    defineAgent({ name: 'switched', sideA: { prompt: 'switched' } }),
    defineAgent({ name: 'host', sideA: { prompt: 'host' } }),
    defineAgent({
      ...{ name: 'host_desk', sideA: { prompt: 'host' } },
      ...{ exposeAsTool: true, toolDescription: 'Takes over as the host' },
    }),
    defineAgent({ name: 'opener', sideA: { prompt: 'opener' } }),
    pair('helper', 'worker'),
    pair('runner', 'worker'),
    pair('crew', 'worker'),
    pair('scouts', 'worker'),
    pair('vault', 'locksmith'),
    pair('relay', 'relay_desk'),
    pair('resident', 'worker'),
    pair('boarder', 'worker'),
    pair('second', 'worker'),
    pair('hermit', 'worker'),
    pair('recluse', 'worker'),
    pair('guest', 'locksmith'),
    pair('errand', 'worker'),
    pair('keeper', 'worker'),
    pair('guide', 'worker'),
    defineAgent({
      ...{
        name: 'ready',
        type: 'dual_ai',
        exposeAsTool: true,
        toolDescription: 'Is ready',
        maxSessionTurns: 4,
      },
      sideA: { prompt: 'idler' },
      sideB: { prompt: 'judge', sessionStop: { name: 'approve', messageProperty: 'summary' } },
    }),
    defineAgent({
      ...{
        name: 'chained',
        type: 'dual_ai',
        exposeAsTool: true,
        toolDescription: 'Is last',
        maxSessionTurns: 4,
      },
      sideA: { prompt: 'last' },
      sideB: { prompt: 'judge', sessionStop: { name: 'approve', messageProperty: 'summary' } },
    }),
    defineAgent({
      ...{ name: 'two_sides', type: 'dual_ai', maxSessionTurns: 4 },
      sideA: { prompt: 'worker' },
      sideB: { prompt: 'second_side', sessionStop: { name: 'approve', messageProperty: 'summary' } },
    }),
  ],
  tools: {
    act: defineTool({
      description: 'Does what its test says',
      args: z.object({ task: z.string() }),
      execute,
    }),
    ask: defineTool({ description: 'Does what a person has to allow', needsApproval: () => true, execute }),
    note: defineTool({ description: 'Takes a note', args: z.object({ text: z.string() }), execute }),
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
  },
  effects: {
    remind: defineEffect('Reminds', z.object({ note: z.string() }), async (state, { note }) => {
      await state.queueMessage({ role: 'user', silent: true, content: note })
    }),
  },
})

export type KindsDesk = typeof kindsDesk
