import { expect, test } from 'vitest'

import { defineAgent, defineModel, definePrompt, registry } from '../../src/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import { collect } from './client-fixture.js'
import { unscripted } from '../support/unscripted.js'
import { testEnvironment } from '../support/test-store.js'

const sideA = { prompt: 'clerk' } as const
const base = {
  models: [defineModel({ name: 'chat', provider: unscripted, model: 'scripted' })],
  prompts: [definePrompt({ name: 'clerk', toolDescription: 'Answers', prompt: 'Hi', model: 'chat' })],
}
const desk = registry({
  ...base,
  agents: [
    defineAgent({
      name: 'support',
      sideA,
      title: 'Support desk',
      description: 'Answers people about their orders.',
      icon: 'lifebuoy',
      exposeAsTool: true,
      toolDescription: 'Asks the support desk',
      packageName: 'support-agents',
      version: '1.0.0',
      author: 'Support',
      license: 'MIT',
    }),
    defineAgent({ name: 'plain', sideA }),
  ],
})

test('SA-A-01.2a SA-A-01.2d SA-A-01.2e SA-A-01.2f SA-A-01.2k the listing shows title, description and icon', async () => {
  const chat = scriptedModel(() => ({ text: 'Hello' }))
  const env = await testEnvironment({ registry: desk, models: { chat } })
  try {
    expect(await collect(env.threads.agents())).toEqual([
      { name: 'plain', type: 'ai_human', title: null, description: null, icon: null, exposeAsTool: false },
      {
        name: 'support',
        type: 'ai_human',
        title: 'Support desk',
        description: 'Answers people about their orders.',
        icon: 'lifebuoy',
        exposeAsTool: true,
      },
    ])
    // They are for people: the model's request is the same with and without.
    for (const agent of ['plain', 'support'] as const)
      await (await env.threads.create({ agent, message: 'Hi' })).waitUntilIdle()
    const [plain, support] = chat.requests.map(({ system, messages, tools }) => ({ system, messages, tools }))
    expect(support).toEqual(plain)
  } finally {
    await env.close()
  }
})
