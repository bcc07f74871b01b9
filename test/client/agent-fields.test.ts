import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'

import { defineAgent, defineHook, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { factsOf, transcript } from '../support/thread-facts.js'
import { createVoice } from '../support/voice.js'
import { unscripted } from '../support/unscripted.js'
import { testEnvironment } from '../support/test-store.js'

/** Fields of definitions, by what a request to the model shows of them. */
const PNG = Buffer.from('\x89PNG\r\n\x1a\n and so on', 'latin1')
const clerk = { toolDescription: 'Answers', prompt: 'You are the clerk.', includeChat: true } as const
const summary = z.object({ summary: z.string() })

const desk = registry({
  models: [
    defineModel({ name: 'seeing', provider: unscripted, model: 'm', capabilities: { maxOutputTokens: 77 } }),
    defineModel({ name: 'blind', provider: unscripted, model: 'm', capabilities: { supportsImages: false } }),
  ],
  prompts: [
    definePrompt({ ...clerk, name: 'clerk', model: 'seeing', tools: ['look', 'expert'] }),
    definePrompt({ ...clerk, name: 'reader', model: 'blind' }),
    definePrompt({ ...clerk, name: 'forgetful', model: 'seeing', hooks: ['last_only'] }),
    definePrompt({ ...clerk, name: 'closer', model: 'seeing', tools: ['close'] }),
  ],
  agents: [
    defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } }),
    defineAgent({ name: 'reader', sideA: { prompt: 'reader' } }),
    defineAgent({ name: 'forgetful', sideA: { prompt: 'forgetful' } }),
    defineAgent({
      name: 'expert',
      exposeAsTool: true,
      toolDescription: 'Knows all about bees',
      sideA: { prompt: 'reader' },
    }),
    defineAgent({
      name: 'new_names',
      sideA: { prompt: 'closer', sessionStop: { name: 'close', messageProperty: 'summary' } },
    }),
    defineAgent({
      name: 'old_names',
      sideA: { prompt: 'closer', endSessionTool: { name: 'close', messageProperty: 'summary' } },
    }),
  ],
  tools: {
    look: defineTool({
      description: 'Looks',
      args: z.object({ at: z.string() }),
      execute: () => ({ status: 'success', result: 'Seen.' }),
    }),
    close: defineTool({ description: 'Closes', args: summary, execute: () => ({ status: 'success' }) }),
  },
  hooks: [
    defineHook({
      hook: 'filter_messages',
      id: 'last_only',
      execute: (_state, messages) => messages.slice(-1),
    }),
  ],
})

const seeing = createVoice()
const blind = createVoice()
let env: TestEnvironment<typeof desk>

beforeAll(async () => {
  const models = { seeing: seeing.model, blind: blind.model }
  env = await testEnvironment({ registry: desk, models })
})
afterAll(() => env.close())
beforeEach(() => {
  seeing.says()
  blind.says()
})

test('SA-A-02.1a a person speaks as user, and no model for them', async () => {
  const thread = await env.threads.create({ agent: 'clerk', message: 'Hello' })
  await thread.waitUntilIdle()
  await thread.send('And now?')
  await thread.waitUntilIdle()
  const requests = seeing.model.requests.filter(({ threadId }) => threadId === thread.threadId)
  expect(requests.map(({ side }) => side)).toEqual(['a', 'a'])
  expect(requests[1]?.messages.map(({ role, text }) => [role, text])).toEqual([
    ['user', 'Hello'],
    ['assistant', 'That is all.'],
    ['user', 'And now?'],
  ])
  const sides = (await factsOf(thread)).filter(({ type }) => type === 'side.started')
  expect(sides.map(({ payload }) => payload)).toMatchObject([{ side: 'a' }, { side: 'a' }])
})

test('SA-R-04.3 SA-A-01.2h a request has the settings and tools of its prompt', async () => {
  const thread = await env.threads.create({ agent: 'clerk', message: 'Hello' })
  await thread.waitUntilIdle()
  const request = seeing.model.requests.at(-1)
  expect(request?.raw).toMatchObject({ maxOutputTokens: 77, toolChoice: { type: 'auto' } })
  expect(request?.tools).toMatchObject([
    { name: 'look', inputSchema: { type: 'object', properties: { at: { type: 'string' } } } },
    { name: 'expert', description: 'Knows all about bees' },
  ])
})

test('SA-R-04.2 a filter leaves messages out of requests only', async () => {
  const thread = await env.threads.create({ agent: 'forgetful', message: 'First' })
  await thread.waitUntilIdle()
  await thread.send('Second')
  await thread.waitUntilIdle()
  expect(seeing.model.requests.at(-1)?.messages).toEqual([{ role: 'user', text: 'Second' }])
  expect((await transcript(thread)).map(({ content }) => content)).toEqual([
    ...['First', 'That is all.', 'Second', 'That is all.'],
  ])
})

test.each([
  ['SA-R-04.7 an image is a part where the model sees', 'clerk', seeing, true],
  ['SA-R-04.8 an image is a path where it does not', 'reader', blind, false],
] as const)('%s', async (_title, agent, { model }, isPart) => {
  const attachments = [{ name: 'bee.png', mimeType: 'image/png', data: PNG }]
  const thread = await env.threads.create({ agent, message: { content: 'What is it?', attachments } })
  await thread.waitUntilIdle()
  const message = model.requests.at(-1)?.raw.prompt.at(-1)
  const kinds = message?.role === 'user' ? message.content.map(({ type }) => type) : []
  expect(kinds.includes('file')).toBe(isPart)
  expect(model.requests.at(-1)?.messages.at(-1)?.text).toContain('bee.png')
  expect((await transcript(thread))[0]?.attachments).toMatchObject([{ name: 'bee.png', size: PNG.length }])
})

test('SA-R-04.8 an image is a part again for a model that sees', async () => {
  const attachments = [{ name: 'bee.png', mimeType: 'image/png', data: PNG }]
  seeing.says({ toolCalls: [{ name: 'expert', args: {} }] })
  const thread = await env.threads.create({ agent: 'clerk', message: { content: 'See', attachments } })
  await thread.waitUntilIdle()
  const partsOf = (model: typeof seeing.model) =>
    model.requests
      .findLast(({ threadId }) => threadId === thread.threadId)
      ?.raw.prompt.flatMap(({ content }) =>
        typeof content === 'string' ? [] : content.map(({ type }) => type),
      )
  expect(partsOf(seeing.model)).toContain('file')
  expect(partsOf(blind.model)).not.toContain('file')
})

test('SA-R-06.5 an old name of a session tool does what the new one does', async () => {
  const ends = []
  for (const agent of ['old_names', 'new_names'] as const) {
    seeing.says({ toolCalls: [{ name: 'close', args: { summary: 'Solved' } }] })
    const thread = await env.threads.create({ agent, message: 'Close it' })
    const { reason, session, steps } = await thread.waitUntilIdle()
    const types = (await factsOf(thread)).map(({ type }) => type)
    ends.push({ reason, session, steps, types })
  }
  expect(ends[0]).toMatchObject({ reason: 'session_stop', session: { message: 'Solved' } })
  expect(ends[0]).toEqual(ends[1])
})
