import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'

import type { ThreadHandle } from '../../src/client/index.js'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { ScriptedAnswer, TestEnvironment } from '../../src/testing/index.js'
import { createGate } from '../support/gate.js'
import type { Gate } from '../support/gate.js'
import { until } from '../support/until.js'
import { collect } from './client-fixture.js'
import { testEnvironment } from '../support/test-store.js'

const provider = {
  languageModel(): never {
    throw new Error('Expected the model to be scripted by the test.')
  },
}
const voice = { toolDescription: 'Speaks', model: 'voice', includeChat: true } as const
const task = z.object({ task: z.string() })
const told = { initUserMessageProperty: 'task' } as const
const worker = <Name extends string>(name: Name) =>
  ({
    name,
    type: 'dual_ai',
    sideA: {
      prompt: `a_${name}` as const,
      stopOnResponse: true,
      sessionStop: { name: 'done', messageProperty: 'result' },
    },
    sideB: { prompt: `a_${name}` as const, stopOnResponse: true },
    exposeAsTool: true,
    toolDescription: 'Works',
  }) as const
/** A boss does not wait for its helper; a helper waits for its scout. */
const desk = registry({
  models: [defineModel({ name: 'voice', provider, model: 'scripted' })],
  prompts: [
    definePrompt({
      ...voice,
      name: 'boss',
      prompt: 'boss',
      tools: [{ name: 'helper', ...told, blocking: false }],
    }),
    definePrompt({
      ...voice,
      name: 'a_helper',
      prompt: 'helper',
      requiredSchema: task,
      tools: [{ name: 'scout', ...told }, 'done', 'ask'],
    }),
    definePrompt({
      ...voice,
      name: 'a_scout',
      prompt: 'scout',
      requiredSchema: task,
      tools: ['done', 'refund'],
    }),
  ],
  agents: [
    defineAgent({ name: 'boss', sideA: { prompt: 'boss' } }),
    defineAgent(worker('helper')),
    defineAgent(worker('scout')),
  ],
  tools: {
    refund: defineTool({
      description: 'Refunds',
      needsApproval: true,
      execute: () => ({ status: 'success' }),
    }),
    done: defineTool({
      description: 'Ends',
      args: z.object({ result: z.string() }),
      execute: () => ({ status: 'success' }),
    }),
    ask: defineTool({ description: 'Asks a person', execute: () => ({ status: 'pending' }) }),
  },
})

const send = (name: string): ScriptedAnswer => ({ toolCalls: [{ name, args: { task: 'Work' } }] })
const done: ScriptedAnswer = { toolCalls: [{ name: 'done', args: { result: 'Found it' } }] }

let env: TestEnvironment<typeof desk>
/** Holds each scout. */
let gate: Gate
/** What a helper does first. */
let helper: ScriptedAnswer
/** What a scout does first. */
let scout: ScriptedAnswer
let thread: ThreadHandle

beforeAll(async () => {
  const asked = new Map<string | null, number>()
  const voice = scriptedModel(async ({ threadId, prompt, messages }) => {
    const times = asked.get(threadId) ?? 0
    asked.set(threadId, times + 1)
    if (prompt === 'a_scout') return scout === done || times > 0 ? (await gate.passed, done) : scout
    if (prompt === 'a_helper') return times === 0 ? helper : done
    return times === 0 ? send('helper') : { text: `Heard: ${messages.at(-1)?.text}` }
  })
  env = await testEnvironment({ registry: desk, models: { voice }, server: 'dev' })
})
afterAll(() => env.close())
beforeEach(() => {
  gate = createGate()
  helper = send('scout')
  scout = done
})
afterEach(() => gate.open())

test('a wait with children ends when the whole tree is idle', async () => {
  thread = await env.threads.create({ agent: 'boss', message: 'Have it done.' })
  // Its own work is done, and nobody else's.
  expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle' })
  const [child] = await childrenOf(thread)
  const scout = await until('the scout', async () => (await childrenOf(env.threads.get(child ?? '')))[0])
  const early = await thread
    .waitUntilIdle({ children: true, timeout: '3 seconds' })
    .catch((error: unknown) => error)
  expect(early).toMatchObject({
    code: 'timeout',
    message: expect.stringMatching(`subagent (${child}|${scout}): `),
  })
  const waiting = thread.waitUntilIdle({ children: true })
  gate.open()
  const { status, reply } = await waiting
  expect(status).toBe('idle')
  expect(reply?.content).toContain('Found it')
  const { children } = await thread.tree()
  expect(children).toMatchObject([
    { status: 'completed', children: [{ threadId: scout, status: 'completed' }] },
  ])
})

test('a subagent that waits for a person holds up no wait', async () => {
  helper = { toolCalls: [{ name: 'ask', args: {} }] }
  thread = await env.threads.create({ agent: 'boss', message: 'Have it done.' })
  expect(await thread.waitUntilIdle({ children: true })).toMatchObject({ status: 'idle' })
  const [child = ''] = await childrenOf(thread)
  const { status, pending } = await env.threads.get(child).snapshot()
  expect(status).toBe('waiting_input')
  await env.threads.get(child).respond(pending[0]?.id ?? '', { result: { status: 'success', result: 'Yes' } })
  const { reply } = await thread.waitUntilIdle({ children: true })
  expect(reply?.content).toContain('Found it')
})

test('a wait that times out names the subagent that waits for a person', async () => {
  scout = { toolCalls: [{ name: 'refund', args: {} }] }
  thread = await env.threads.create({ agent: 'boss', message: 'Have it done.' })
  const [asked] = await until('the request', async () => {
    const requests = await collect(env.threads.pending({ root: thread.threadId }))
    return requests.length > 0 && requests
  })
  const [helping = ''] = await childrenOf(thread)
  const early = await env.threads
    .get(helping)
    .waitUntilIdle({ timeout: '3 seconds' })
    .catch((error: unknown) => error)
  expect(String(early)).toContain(
    `; subagent scout (${asked?.threadId}) waits for leave to run refund (request ${asked?.id}).`,
  )
  await env.threads.get(asked?.threadId ?? '').respond(asked?.id ?? '', { approved: true })
  gate.open()
  await thread.waitUntilIdle({ children: true })
})

async function childrenOf({ threadId }: ThreadHandle): Promise<readonly string[]> {
  return (await collect(env.threads.list({ parent: threadId }))).map((child) => child.threadId)
}
