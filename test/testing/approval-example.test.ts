import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import { assertEvents, createTestEnvironment, scriptedModel } from '../../src/testing/index.js'

const provider = {
  languageModel(): never {
    throw new Error('Expected the model to be scripted by the test.')
  },
}
const desk = registry({
  models: [
    defineModel({ name: 'chat', provider, model: 'x' }),
    defineModel({ name: 'review', provider, model: 'y' }),
  ],
  prompts: [
    definePrompt({
      name: 'support_desk',
      toolDescription: 'Answers people',
      prompt: 'You answer for Acme Outdoor.',
      model: 'chat',
      includeChat: true,
      includePastTools: true,
      tools: ['refund_order'],
    }),
  ],
  agents: [defineAgent({ name: 'support', sideA: { prompt: 'support_desk' } })],
  tools: {
    refund_order: defineTool({
      description: 'Refunds an order',
      args: z.object({ orderId: z.string(), amount: z.number() }),
      variables: [{ name: 'ORDERS_API_KEY', type: 'secret', required: true, description: 'Key of the shop' }],
      needsApproval: (_state, { amount }) => amount > 50,
      execute(): never {
        throw new Error('Expected the tool to be faked by the test.')
      },
    }),
  },
})

test('a refund waits for a person, through crash and weekend', async () => {
  const chat = scriptedModel([
    { toolCalls: [{ name: 'refund_order', args: { orderId: 'A-17', amount: 80 } }] },
    (request) => ({ text: `Done: ${request.messages.at(-1)?.text}` }),
  ])
  const env = await createTestEnvironment({
    registry: desk,
    models: { chat, review: scriptedModel([]) },
    tools: {
      refund_order: async ({ amount }, state) => ({
        status: 'success',
        result: `Refunded ${amount} euros with ${await state.env('ORDERS_API_KEY')}.`,
      }),
    },
    env: { ORDERS_API_KEY: 'k' },
  })
  onTestFinished(() => env.close())
  const thread = await env.threads.create({ agent: 'support', message: 'Refund A-17, please.' })
  expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
  const args = { orderId: 'A-17', amount: 80 }
  await env.sleep('3 days')
  await env.restartWorker()
  const [request] = (await thread.snapshot()).pending
  expect(request).toMatchObject({ kind: 'approval', toolName: 'refund_order', args })
  await thread.respond(request?.id ?? '', { approved: true, by: 'ben' })
  expect((await thread.waitUntilIdle()).reply?.content).toBe('Done: Refunded 80 euros with k.')
  expect(chat.requests[0]?.system).toMatch(/Acme Outdoor/)
  await assertEvents(thread, [
    'action.required',
    'action.resolved',
    'tool.started',
    'tool.result',
    'run.completed',
  ])
  expect(chat.remaining).toBe(0)
})
