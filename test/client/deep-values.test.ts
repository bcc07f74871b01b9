import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { testEnvironment } from '../support/test-store.js'
import { unscripted } from '../support/unscripted.js'

/** What `JSON.stringify` takes, and with a replacer does not: a digest was made that way. */
const DEEP: unknown = JSON.parse('['.repeat(3500) + ']'.repeat(3500))
const runs = { look: 0, ask: 0, give: 0, queue: 0 }
const args = z.object({ deep: z.unknown() })

const desk = registry({
  models: [defineModel({ name: 'chat', provider: unscripted, model: 'x' })],
  prompts: [
    definePrompt({
      name: 'clerk',
      toolDescription: 'Answers',
      prompt: 'You are the clerk.',
      model: 'chat',
      includeChat: true,
      includePastTools: true,
      tools: ['look', 'ask', 'give', 'queue'],
    }),
  ],
  agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } })],
  tools: {
    look: defineTool({
      description: 'Looks',
      idempotent: true,
      args,
      execute: () => {
        runs.look += 1
        return { status: 'success' }
      },
    }),
    ask: defineTool({
      description: 'Asks',
      idempotent: true,
      args,
      needsApproval: () => {
        runs.ask += 1
        return true
      },
      execute: () => ({ status: 'success' }),
    }),
    give: defineTool({
      description: 'Gives',
      idempotent: true,
      args,
      execute: () => {
        runs.give += 1
        return { status: 'success', result: DEEP as never }
      },
    }),
    queue: defineTool({
      description: 'Queues',
      idempotent: true,
      args,
      execute: (state) => {
        runs.queue += 1
        state.queueTool('give', { deep: DEEP })
        return { status: 'success' }
      },
    }),
  },
})

let env: TestEnvironment<typeof desk>
beforeAll(async () => {
  const chat = scriptedModel((request) => {
    const last = request.messages.at(-1)
    const name = last?.text ?? ''
    if (last?.role === 'user')
      return { toolCalls: [{ name, args: { deep: name === 'look' || name === 'ask' ? DEEP : 1 } }] }
    return { text: 'Done' }
  })
  env = await testEnvironment({ registry: desk, models: { chat } })
})
afterAll(() => env.close())

test.each(['look', 'give', 'queue', 'ask'] as const)(
  'T10 a value that is nested 3,500 times (%s) ends in a result',
  async (tool) => {
    const thread = await env.threads.create({ agent: 'clerk', message: tool })
    const reply = await thread.waitUntilIdle({ timeout: 60_000 }).then(
      ({ reply, status }) => (status === 'waiting_permission' ? 'Done' : reply?.content),
      (error: unknown) => String(error),
    )
    expect(reply).toBe('Done')
    expect(runs[tool]).toBeLessThanOrEqual(1)
  },
)
