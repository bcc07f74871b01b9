import { z } from 'zod'

import {
  defineAgent,
  defineEffect,
  defineHook,
  defineModel,
  definePrompt,
  defineTool,
  registry,
} from '../../src/index.js'
import type { ThreadState } from '../../src/index.js'
import { unscripted } from './unscripted.js'

const execute = (): never => {
  throw new Error('Expected the tool to be faked by the test.')
}
const task = z.object({ task: z.string() })

/** What the effect "note" does, by thread: nothing without one. */
export const noted = new Map<string, (state: ThreadState) => Promise<void>>()

/** What is waited for before a result of a tool is stored, by thread. */
export const held = new Map<string, Promise<unknown>>()

/** The agents of the workflow tests: models and tools are scripted by each test for its own thread. */
export const workflowDesk = registry({
  models: [
    defineModel({ name: 'chat', provider: unscripted, model: 'scripted' }),
    defineModel({ name: 'review', provider: unscripted, model: 'scripted' }),
    defineModel({
      name: 'narrow',
      provider: unscripted,
      model: 'scripted',
      capabilities: { maxContextTokens: 2000 },
    }),
    defineModel({ name: 'backed', provider: unscripted, model: 'scripted', fallbacks: ['review'] }),
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
      name: 'manager',
      toolDescription: 'Leads',
      prompt: [
        { type: 'text', content: 'You are the manager of ' },
        { type: 'env', property: 'HOUSE' },
        { type: 'text', content: '.' },
      ],
      model: 'chat',
      includeChat: true,
      includePastTools: true,
      variables: [{ name: 'HOUSE', type: 'text', required: false, description: 'The name of the house' }],
      tools: [
        'work',
        'other',
        'guarded',
        'doubtful',
        'flaky',
        { name: 'summarize', initUserMessageProperty: 'text' },
        { name: 'colleague', session: false, initUserMessageProperty: 'task' },
      ],
      hooks: ['mask_numbers'],
    }),
    definePrompt({
      name: 'summarize',
      toolDescription: 'Summarizes a text',
      prompt: 'You summarize.',
      model: 'review',
      requiredSchema: z.object({ text: z.string() }),
      tools: ['other', 'guarded', 'summarize'],
    }),
    definePrompt({
      name: 'colleague_desk',
      toolDescription: 'Helps out',
      prompt: 'You are the colleague.',
      model: 'review',
      requiredSchema: task,
      includeChat: true,
      includePastTools: true,
      tools: ['work'],
    }),
    definePrompt({
      name: 'keeper',
      toolDescription: 'Keeps secrets',
      prompt: [
        { type: 'text', content: 'You keep ' },
        { type: 'env', property: 'OWNER' },
        { type: 'text', content: "'s secrets." },
      ],
      model: 'chat',
      includeChat: true,
      includePastTools: true,
      variables: [{ name: 'OWNER', type: 'text', required: true, description: 'Whose they are' }],
      tools: ['unlock'],
    }),
    definePrompt({
      name: 'auditor',
      toolDescription: 'Checks what others did',
      prompt: 'You are the auditor.',
      model: 'review',
      includeChat: true,
    }),
    definePrompt({
      name: 'reader',
      toolDescription: 'Remembers little',
      prompt: 'You are the reader.',
      model: 'narrow',
      includeChat: true,
      includePastTools: true,
      tools: ['work', 'other', 'flaky'],
    }),
    definePrompt({
      name: 'courier',
      toolDescription: 'Has somebody to stand in',
      prompt: 'You are the courier.',
      model: 'backed',
      continueCutAnswers: 1,
      includeChat: true,
      includePastTools: true,
      tools: ['work', { name: 'outline', initUserMessageProperty: 'text' }],
    }),
    definePrompt({
      name: 'outline',
      toolDescription: 'Outlines a text',
      prompt: 'You outline.',
      model: 'backed',
      requiredSchema: z.object({ text: z.string() }),
    }),
  ],
  agents: [
    defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } }),
    defineAgent({ name: 'manager', sideA: { prompt: 'manager' }, env: { HOUSE: 'Rest Inn' } }),
    defineAgent({ name: 'keeper', sideA: { prompt: 'keeper' }, hooks: ['mask_numbers'] }),
    defineAgent({
      name: 'colleague',
      sideA: { prompt: 'colleague_desk' },
      exposeAsTool: true,
      toolDescription: 'Hands over to the colleague',
    }),
    defineAgent({ name: 'filer', sideA: { prompt: 'clerk' }, hooks: ['hold_result'] }),
    defineAgent({ name: 'hasty', sideA: { prompt: 'clerk' }, runAhead: 10 }),
    defineAgent({ name: 'stepwise', sideA: { prompt: 'clerk' }, runAhead: false }),
    defineAgent({ name: 'auditor', sideA: { prompt: 'auditor' } }),
    defineAgent({ name: 'reader', sideA: { prompt: 'reader' } }),
    defineAgent({ name: 'courier', sideA: { prompt: 'courier' } }),
    defineAgent({ name: 'capped', sideA: { prompt: 'clerk', maxSteps: 3 } }),
    defineAgent({ name: 'brief', sideA: { prompt: 'clerk' }, maxToolIterations: 3 }),
    defineAgent({
      name: 'closer',
      sideA: {
        prompt: 'clerk',
        stopTool: 'finish',
        sessionStop: { name: 'close_case', messageProperty: 'summary' },
        sessionFail: { name: 'give_up', messageProperty: 'reason' },
        sessionStatus: { name: 'third', messageProperty: 'task' },
      },
    }),
    defineAgent({
      name: 'teller',
      sideA: { prompt: 'clerk', stopTool: 'close_case', stopToolResponseProperty: 'summary' },
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
    guarded: defineTool({
      description: 'Does what a person has to allow, unless it is small',
      args: task,
      needsApproval: (_state, { task: wanted }) => !wanted.startsWith('small'),
      execute,
    }),
    doubtful: defineTool({
      description: 'Cannot tell whether a person has to allow it',
      args: task,
      needsApproval: () => {
        throw new Error('Expected to know it.')
      },
      execute,
    }),
    flaky: defineTool({
      description: 'Fails now and then',
      args: task,
      retry: { maximumAttempts: 3, initialInterval: 10 },
      execute,
    }),
    unlock: defineTool({
      description: 'Opens the safe',
      variables: [{ name: 'SAFE_CODE', type: 'secret', required: true, description: 'Opens the safe' }],
      execute,
    }),
    finish: defineTool({ description: 'Ends the turn', execute }),
    close_case: defineTool({
      description: 'Closes the case',
      args: z.object({ summary: z.string() }),
      execute,
    }),
    give_up: defineTool({ description: 'Gives up', args: z.object({ reason: z.string() }), execute }),
  },
  hooks: [
    defineHook({
      hook: 'before_store_tool_result',
      id: 'hold_result',
      execute: async (state) => void (await held.get(state.threadId)),
    }),
    defineHook({
      hook: 'before_create_message',
      id: 'mask_numbers',
      execute: (_state, message) => ({
        ...message,
        content: message.content?.replaceAll(/\d{13,}/g, '[number]') ?? null,
      }),
    }),
  ],
  effects: {
    note: defineEffect(
      'Does what its test says',
      (state) => noted.get(state.threadId)?.(state) ?? Promise.resolve(),
    ),
    remind: defineEffect('Reminds', z.object({ note: z.string() }), async (state, { note }) => {
      await state.queueMessage({ role: 'user', silent: true, content: note })
    }),
  },
})

export type WorkflowDesk = typeof workflowDesk
