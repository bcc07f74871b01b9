import { afterAll, beforeAll, expect, test } from 'vitest'

import { defineAgent, defineModel, definePrompt, registry } from '../../src/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { testEnvironment } from '../support/test-store.js'
import { unscripted } from '../support/unscripted.js'

const desk = registry({
  models: [defineModel({ name: 'chat', provider: unscripted, model: 'x' })],
  prompts: [
    definePrompt({
      name: 'clerk',
      toolDescription: 'Answers',
      prompt: 'You are the clerk.',
      model: 'chat',
      includeChat: true,
    }),
  ],
  agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } })],
})

/** What `slice` leaves of a text that ends in an emoji: a text of JavaScript, which no database keeps as it is. */
const HALF = 'order 🙂'.slice(0, -1)

let env: TestEnvironment<typeof desk>
beforeAll(async () => {
  const chat = scriptedModel((request) => ({ text: `Got ${request.messages.at(-1)?.text}` }))
  env = await testEnvironment({ registry: desk, models: { chat } })
})
afterAll(() => env.close())

test('T3 a message whose id ends in half a character is refused', async () => {
  const thread = await env.threads.create({ agent: 'clerk' })
  const refused = { code: 'message_rejected', message: expect.stringContaining('half of one') }
  await expect(thread.send({ id: HALF, content: 'Hello' })).rejects.toMatchObject(refused)
  await expect(thread.queueTool('look' as never, {} as never, { id: HALF })).rejects.toMatchObject(refused)
  expect((await thread.messages()).messages).toEqual([])
})

test.each([{ id: HALF }, { userId: HALF }, { account: HALF }, { tags: ['a', HALF] }])(
  'a thread is refused before it is there: %j',
  async (field) => {
    const id = `half-${Object.keys(field).join()}`
    const made = env.threads.create({ agent: 'clerk', id, ...field, message: 'Hello' })
    await expect(made).rejects.toMatchObject({
      name: 'ConfigError',
      message: expect.stringContaining('half of one'),
    })
    expect(await env.threads.find(id)).toBeNull()
  },
)
