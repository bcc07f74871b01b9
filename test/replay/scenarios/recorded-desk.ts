import { z } from 'zod'

import {
  defineAgent,
  defineEffect,
  defineModel,
  definePrompt,
  defineTool,
  registry,
} from '../../../src/index.js'
import { scriptedModel } from '../../../src/testing/index.js'
import { marked } from '../../support/marker.js'
import { unscripted } from '../../support/unscripted.js'

/** The agents whose threads are kept: one that works, one that never answers, a pair that researches. */
export const recordedDesk = registry({
  models: [
    defineModel({ name: 'chat', provider: unscripted, model: 'scripted' }),
    defineModel({ name: 'slow', provider: unscripted, model: 'scripted' }),
    defineModel({ name: 'broken', provider: unscripted, model: 'scripted' }),
    defineModel({ name: 'nested', provider: unscripted, model: 'scripted' }),
    defineModel({ name: 'research', provider: unscripted, model: 'scripted' }),
    defineModel({ name: 'lead', provider: unscripted, model: 'scripted' }),
  ],
  prompts: [
    definePrompt({
      name: 'desk',
      toolDescription: 'Answers people',
      prompt: marked('You are the desk.'),
      model: 'chat',
      includeChat: true,
      includePastTools: true,
      tools: [
        'look_up',
        'hang',
        'pay',
        'ask_outside',
        'schedule',
        { name: 'summarize', initUserMessageProperty: 'text' },
        { name: 'colleague', initUserMessageProperty: 'task' },
        { name: 'research', initUserMessageProperty: 'question', initAttachmentsProperty: 'files' },
      ],
    }),
    definePrompt({
      name: 'summarize',
      toolDescription: 'Summarizes',
      prompt: marked('You summarize.'),
      model: 'nested',
      requiredSchema: z.object({ text: z.string() }),
      tools: ['look_up'],
    }),
    definePrompt({
      name: 'colleague_desk',
      toolDescription: 'Helps out',
      prompt: marked('You help out.'),
      model: 'chat',
      requiredSchema: z.object({ task: z.string() }),
      includeChat: true,
    }),
    definePrompt({
      name: 'keeper',
      toolDescription: 'Keeps things',
      prompt: [{ type: 'env', property: 'OWNER' }],
      model: 'chat',
      variables: [{ name: 'OWNER', type: 'text', required: true, description: 'Whose they are' }],
    }),
    definePrompt({
      name: 'lead',
      toolDescription: 'Leads others',
      prompt: marked('You lead.'),
      model: 'lead',
      includeChat: true,
      includePastTools: true,
      tools: [
        { name: 'analyst', resumable: { receives_messages: 'side_a' } },
        { name: 'research', initUserMessageProperty: 'question', fanOut: true, blocking: false },
        { name: 'keyed', initUserMessageProperty: 'question' },
        { name: 'greeter', immediate: true },
      ],
    }),
    definePrompt({
      name: 'keyed_researcher',
      toolDescription: 'Researches with a key',
      prompt: marked('You research with a key.'),
      model: 'research',
      includeChat: true,
      requiredSchema: z.object({ question: z.string() }),
      variables: [
        {
          name: 'RESEARCH_KEY',
          type: 'text',
          required: true,
          scoped: true,
          description: 'Opens the archive',
        },
      ],
    }),
    definePrompt({ name: 'slow', toolDescription: 'Never answers', prompt: marked('Slow.'), model: 'slow' }),
    definePrompt({ name: 'broken', toolDescription: 'Fails', prompt: marked('Broken.'), model: 'broken' }),
    definePrompt({
      name: 'researcher',
      toolDescription: 'Researches',
      prompt: marked('You research.'),
      model: 'research',
      includeChat: true,
      requiredSchema: z.object({ question: z.string(), files: z.array(z.string()).default([]) }),
    }),
    definePrompt({
      name: 'thinker',
      toolDescription: 'Thinks',
      prompt: marked('You think.'),
      model: 'research',
      includeChat: true,
    }),
    definePrompt({
      name: 'reviewer',
      toolDescription: 'Reviews',
      prompt: marked('You review.'),
      model: 'research',
      includeChat: true,
      tools: ['deliver'],
    }),
  ],
  agents: [
    defineAgent({ name: 'desk', sideA: { prompt: 'desk' } }),
    defineAgent({ name: 'keeper', sideA: { prompt: 'keeper' } }),
    defineAgent({
      name: 'colleague',
      sideA: { prompt: 'colleague_desk' },
      exposeAsTool: true,
      toolDescription: 'Hands over',
    }),
    defineAgent({ name: 'lead', sideA: { prompt: 'lead' } }),
    ...(['analyst', 'keyed', 'greeter'] as const).map((name) =>
      defineAgent({
        name,
        type: 'dual_ai',
        maxSessionTurns: 6,
        exposeAsTool: true,
        toolDescription: 'Works for the lead',
        sideA: { prompt: name === 'keyed' ? 'keyed_researcher' : 'thinker' },
        sideB: { prompt: 'reviewer', sessionStop: { name: 'deliver', messageProperty: 'summary' } },
      }),
    ),
    defineAgent({
      name: 'talkers',
      type: 'dual_ai',
      maxSessionTurns: 3,
      sideA: { prompt: 'desk' },
      sideB: { prompt: 'desk' },
    }),
    defineAgent({ name: 'slow', sideA: { prompt: 'slow' } }),
    defineAgent({ name: 'broken', sideA: { prompt: 'broken' } }),
    defineAgent({
      name: 'research',
      type: 'dual_ai',
      maxSessionTurns: 6,
      exposeAsTool: true,
      toolDescription: 'Has a question researched',
      sideA: { prompt: 'researcher' },
      sideB: { prompt: 'reviewer', sessionStop: { name: 'deliver', messageProperty: 'summary' } },
    }),
  ],
  tools: {
    look_up: defineTool({
      description: 'Looks something up',
      args: z.object({ what: z.string() }),
      execute: async () => ({ status: 'success', result: marked('found') }),
    }),
    pay: defineTool({
      description: 'Pays',
      needsApproval: true,
      execute: async () => ({ status: 'success', result: marked('paid') }),
    }),
    ask_outside: defineTool({ description: 'Asks outside', execute: () => ({ status: 'pending' }) }),
    schedule: defineTool({
      description: 'Schedules an effect, and queues a tool',
      execute: async (state) => {
        state.queueTool('look_up', { what: marked('it') })
        await state.scheduleEffect('remind', {}, 300)
        return { status: 'success', result: marked('scheduled') }
      },
    }),
    hang: defineTool({
      description: 'Never answers',
      execute: () => new Promise<never>(() => undefined),
    }),
    deliver: defineTool({
      description: 'Delivers the result',
      args: z.object({ summary: z.string() }),
      execute: async () => ({ status: 'success' }),
    }),
  },
  effects: {
    remind: defineEffect('Reminds', async (state) => {
      await state.queueMessage({ role: 'user', content: marked('look it up') })
    }),
  },
})

/** Each model answers every request by what it was asked, so that threads need no scripts of their own. */
export const scriptedModels = {
  chat: scriptedModel((request) => {
    const asked = request.messages.at(-1)?.text ?? ''
    if (request.messages.at(-1)?.role === 'tool') return { text: marked('Done.') }
    if (asked.includes('look')) return { toolCalls: [{ name: 'look_up', args: { what: marked('it') } }] }
    for (const name of ['pay', 'schedule'])
      if (asked.includes(name)) return { toolCalls: [{ name, args: {} }] }
    if (asked.includes('ask outside')) return { toolCalls: [{ name: 'ask_outside', args: {} }] }
    if (asked.includes('summarize'))
      return { toolCalls: [{ name: 'summarize', args: { text: marked('A story.') } }] }
    if (asked.includes('hand over'))
      return { toolCalls: [{ name: 'colleague', args: { task: marked('Take over.') } }] }
    if (asked.includes('hang')) return { toolCalls: [{ name: 'hang', args: {} }] }
    if (asked.includes('research'))
      return { toolCalls: [{ name: 'research', args: { question: marked('Why?') } }] }
    return { text: marked('Hello.') }
  }),
  lead: scriptedModel(({ messages }) => {
    const said = messages.filter(({ text }) => !text.startsWith('System note:'))
    const asked = said.at(-1)?.text ?? ''
    if (said.at(-1)?.role === 'tool') return { text: marked('Done.') }
    const question = marked('Why?')
    const work = { message: question, attachments: [] }
    if (asked.includes('create'))
      return {
        toolCalls: [{ name: 'subagent_create', args: { agent: 'analyst', name: marked('Ann'), ...work } }],
      }
    if (asked.includes('again')) {
      const registry = messages.map(({ text }) => text).join()
      const [referenceId] = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/.exec(registry) ?? []
      return { toolCalls: [{ name: 'subagent_message', args: { referenceId, ...work } }] }
    }
    if (asked.includes('spread'))
      return { toolCalls: [{ name: 'research', args: { items: [{ question }, { question }] } }] }
    if (asked.includes('key')) return { toolCalls: [{ name: 'keyed', args: { question } }] }
    return { text: marked('Hello.') }
  }),
  nested: scriptedModel(() => ({
    text: marked('Short.'),
    toolCalls: [{ name: 'look_up', args: { what: marked('it') } }],
  })),
  slow: scriptedModel(() => ({ text: marked('late'), delay: 3_600_000 })),
  broken: scriptedModel(() => ({ error: { status: 400, message: marked('refused') } })),
  research: scriptedModel(({ side }) =>
    side === 'a'
      ? { text: marked('A draft.') }
      : { toolCalls: [{ name: 'deliver', args: { summary: marked('The result.') } }] },
  ),
}
