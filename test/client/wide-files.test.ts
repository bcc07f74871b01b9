import { afterAll, beforeAll, expect, test } from 'vitest'

import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { testEnvironment } from '../support/test-store.js'
import { unscripted } from '../support/unscripted.js'

/** What the header of a PNG may say, and an `integer` of PostgreSQL does not hold. */
const WIDTH = 2 ** 32 - 1
const runs = { draw: 0, scan: 0, attach: 0 }

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
      tools: ['scan', 'attach', 'draw'],
    }),
  ],
  agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } })],
  tools: {
    scan: defineTool({
      description: 'Writes a picture, and may be repeated',
      idempotent: true,
      execute: async (state) => {
        runs.scan += 1
        await state.writeFile('/scan.png', 'png', 'image/png', { width: WIDTH, height: 1 })
        return { status: 'success' }
      },
    }),
    attach: defineTool({
      description: 'Answers with a picture, and may be repeated',
      idempotent: true,
      execute: () => {
        runs.attach += 1
        const file = { name: 'a.png', mimeType: 'image/png', data: Buffer.from('png'), width: WIDTH }
        return { status: 'success', attachments: [file] }
      },
    }),
    draw: defineTool({
      description: 'Writes a picture',
      execute: async (state) => {
        runs.draw += 1
        await state.writeFile('/draw.png', 'png', 'image/png', { width: WIDTH, height: 1 })
        return { status: 'success' }
      },
    }),
  },
})

let env: TestEnvironment<typeof desk>
beforeAll(async () => {
  const chat = scriptedModel((request) => {
    const last = request.messages.at(-1)
    if (last?.role === 'user') return { toolCalls: [{ name: last.text, args: {} }] }
    return { text: 'Done' }
  })
  env = await testEnvironment({ registry: desk, models: { chat } })
})
afterAll(() => env.close())

test.each(['draw', 'scan', 'attach'] as const)(
  'T4 a tool (%s) that says a width of 32 bits is run once, and its thread goes on',
  async (tool) => {
    const thread = await env.threads.create({ agent: 'clerk', message: tool })
    const reply = await thread.waitUntilIdle({ timeout: 60_000 }).then(
      ({ reply }) => reply?.content,
      (error: unknown) => String(error),
    )
    const { messages } = await thread.messages()
    expect({ reply, runs: runs[tool] }).toEqual({ reply: 'Done', runs: 1 })
    expect(messages.find(({ role }) => role === 'tool')?.content ?? '').not.toMatch(/unknown/i)
  },
)
