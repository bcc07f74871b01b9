import { afterAll, beforeAll, expect, test } from 'vitest'

import type { Finding } from '../../src/client/index.js'
import {
  defineAgent,
  defineEffect,
  defineHook,
  defineModel,
  definePrompt,
  registry,
} from '../../src/index.js'
import { LIMITS } from '../../src/protocol/limits.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { createGate } from '../support/gate.js'
import { testEnvironment } from '../support/test-store.js'
import { unscripted } from '../support/unscripted.js'
import { until } from '../support/until.js'

const HOUR = 3_600_000

const desk = registry({
  models: [defineModel({ name: 'chat', provider: unscripted, model: 'scripted' })],
  prompts: [
    definePrompt({
      name: 'clerk',
      toolDescription: 'Answers',
      prompt: 'You are the clerk.',
      model: 'chat',
      includeChat: true,
      includePastTools: true,
      hooks: ['remember'],
    }),
  ],
  agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } })],
  hooks: [
    defineHook({
      hook: 'after_create_message',
      id: 'remember',
      execute: async (state, message) => {
        if (message.content === 'Remember') await state.scheduleEffect('note', {}, HOUR)
      },
    }),
  ],
  effects: { note: defineEffect('Does nothing', async () => {}) },
})

const gate = createGate()
const { underWay } = LIMITS
let asked = 0
let env: TestEnvironment<typeof desk>

beforeAll(async () => {
  const chat = scriptedModel(async () => {
    asked += 1
    await gate.passed
    return { text: 'Noted.' }
  })
  env = await testEnvironment({ registry: desk, models: { chat }, server: 'dev' }, ['threads'])
})
afterAll(async () => {
  Object.assign(LIMITS, { underWay })
  await env.close()
})

async function findings(): Promise<readonly Finding[]> {
  const found: Finding[] = []
  for await (const finding of env.threads.doctor()) found.push(finding)
  return found
}

test('T9 a thread whose model takes its time is healthy, whatever a hook of its message scheduled', async () => {
  const thread = await env.threads.create({ agent: 'clerk' })
  await thread.send('Remember')
  await until('the call', async () => asked === 1)
  // As a minute later, which the model takes.
  Object.assign(LIMITS, { underWay: 1 })
  const found = await findings()
  Object.assign(LIMITS, { underWay })
  gate.open()
  await thread.waitUntilIdle()
  expect(found).toEqual([])
  expect((await thread.snapshot()).effects).toHaveLength(1)
})
