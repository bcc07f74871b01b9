import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { expect, inject, test } from 'vitest'

import { defineAgent, defineModel, definePrompt, registry } from '../../src/index.js'
import { createWorkingFixture } from '../client/working-fixture.js'
import { startProviderMock } from '../support/provider-mock.js'
import { factsOf } from '../support/thread-facts.js'

test('P3 16 threads complete at a provider of 4 requests a window', async () => {
  const mock = await startProviderMock({
    limit: { requests: 4, window: 1500 },
    always: { text: 'Here you are.' },
  })
  const provider = createOpenAICompatible({ name: 'limited', baseURL: mock.url, apiKey: 'none' })
  const desk = registry({
    models: [defineModel({ name: 'chat', provider, model: 'mock' })],
    prompts: [definePrompt({ name: 'clerk', toolDescription: 'x', prompt: 'x', model: 'chat' })],
    agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } })],
  })
  const { threads, close } = await createWorkingFixture({
    registry: desk,
    server: { address: inject('devServerAddress') },
    workflowBundle: { codePath: inject('workflowBundlePath') },
  })
  try {
    const all = await Promise.all(
      Array.from({ length: 16 }, () => threads.create({ agent: 'clerk', message: 'Hello?' })),
    )
    const runs = await Promise.all(all.map((thread) => thread.waitUntilIdle()))
    expect(runs.map(({ reason }) => reason)).toEqual(runs.map(() => 'stop_on_response'))
    const facts = (await Promise.all(all.map((thread) => factsOf(thread)))).flat()
    const refused = facts.flatMap(({ type, payload }) => (type === 'model.failed' ? [payload] : []))
    expect(mock.requests).toHaveLength(16 + refused.length)
    expect(new Set(refused.map(({ error }) => error))).toEqual(new Set(['rate_limited']))
  } finally {
    await close()
    await mock.close()
  }
})
