/** What a thread does, in the sixteen words of the Agent Runtime draft: each of them is reached by a thread with a worker. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { z } from 'zod'
import type { ThreadHandle } from '../../src/client/index.js'
import { defineAgent, defineHook, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { ScriptedAnswer } from '../../src/model/scripted-model.js'
import type { AgentRuntimeEvent } from '../../src/views/index.js'
import { createGate } from '../support/gate.js'
import { startDevServer } from '../support/servers.js'
import type { DevServer } from '../support/servers.js'
import { until } from '../support/until.js'
import { createWorkingFixture } from './working-fixture.js'
import type { WorkingFixture } from './working-fixture.js'

const gate = createGate()
/** The answers of each thread, in order. */
const answers = new Map<string, (ScriptedAnswer | (() => Promise<ScriptedAnswer>))[]>()
const model = scriptedModel(async ({ threadId }) => {
  const next = answers.get(threadId ?? '')?.shift() ?? { text: 'Done' }
  return typeof next === 'function' ? next() : next
})
const call = (name: string): ScriptedAnswer => ({ toolCalls: [{ name, args: {} }] })
const voice = { toolDescription: 'x', model: 'chat', includeChat: true, includePastTools: true } as const
const none = z.object({})

const desk = registry({
  models: [
    defineModel({ name: 'chat', provider: { languageModel: () => model }, model: 'x' }),
    // Its provider asks for a pause, which all of its callers keep.
    defineModel({ name: 'limited', provider: { languageModel: () => model }, model: 'y' }),
  ],
  prompts: [
    definePrompt({ ...voice, name: 'clerk', prompt: 'You work.', tools: ['wait', 'ask', 'scan', 'nap'] }),
    definePrompt({ ...voice, name: 'patient', prompt: 'You wait.', model: 'limited' }),
    definePrompt({
      ...{ ...voice, name: 'keeper', prompt: 'You keep.' },
      variables: [{ name: 'OWNER', type: 'text', required: true, description: 'x' }],
    }),
  ],
  agents: [
    defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } }),
    defineAgent({ name: 'keeper', sideA: { prompt: 'keeper' } }),
    defineAgent({ name: 'patient', sideA: { prompt: 'patient' } }),
    defineAgent({ name: 'careful', sideA: { prompt: 'clerk' }, hooks: ['hold'] }),
    defineAgent({ name: 'hurried', sideA: { prompt: 'clerk' }, budget: { maxRuntimeSeconds: 1 } }),
  ],
  hooks: [
    defineHook({
      ...{ hook: 'filter_messages', id: 'hold', timeout: 30_000 },
      execute: async (_state, messages) => {
        await gate.passed
        return messages
      },
    }),
  ],
  tools: {
    wait: defineTool({
      description: 'x',
      args: none,
      execute: async () => (await gate.passed, { status: 'success' }),
    }),
    ask: defineTool({
      description: 'x',
      args: none,
      needsApproval: true,
      execute: () => ({ status: 'success' }),
    }),
    scan: defineTool({ description: 'x', args: none, execute: () => ({ status: 'pending' }) }),
    nap: defineTool({
      ...{ description: 'x', args: none },
      execute: () => new Promise((resolve) => setTimeout(() => resolve({ status: 'success' }), 1_200)),
    }),
  },
})

let server: DevServer
let fixture: WorkingFixture
beforeAll(async () => {
  server = await startDevServer()
  const workflowBundle = { codePath: inject('workflowBundlePath') }
  fixture = await createWorkingFixture({ registry: desk, server, workflowBundle })
})
afterAll(async () => {
  gate.open()
  await fixture.close()
  await server.stop()
})

type Agent = 'clerk' | 'keeper' | 'careful' | 'hurried' | 'patient'

async function start(id: string, agent: Agent, ...replies: NonNullable<ReturnType<typeof answers.get>>) {
  answers.set(id, replies)
  return fixture.threads.create({ agent, id, message: 'Hello' })
}

/** Waits for the state, and reads the rest of the model. */
async function reaches(thread: ThreadHandle, state: string) {
  return until(`${thread.threadId} to be ${state}`, async () => {
    const model = await thread.readModel()
    return model.controlState === state ? model : undefined
  })
}

test('AR-CF.1 AR-CF.2 a thread is driven into each of the sixteen states, and the read model says so', async () => {
  const accepted = await fixture.threads.create({ agent: 'clerk', id: 'accepted' })
  await reaches(accepted, 'accepted')
  await reaches(await start('preparing', 'careful'), 'preparing')
  const running = await start('running', 'clerk', call('wait'))
  await reaches(running, 'running')
  // It is known once a step has drained the message.
  await until('its turn', async () => (await running.readModel()).activeTurn !== 'unknown')
  expect(await running.readModel()).toMatchObject({ activeTurn: { turnId: expect.any(String) } })
  await reaches(
    await start('streaming', 'clerk', { text: 'one two three '.repeat(40), wordDelay: 150 }),
    'streaming',
  )
  const later = async (): Promise<ScriptedAnswer> => (await gate.passed, { text: 'Done' })
  await reaches(await start('retrying', 'clerk', { error: { status: 500, message: 'x' } }, later), 'retrying')
  const asks = await start('waiting-permission', 'clerk', call('ask'))
  expect(await reaches(asks, 'waiting_permission')).toMatchObject({ pending: [{ kind: 'approval' }] })
  const scans = await start('waiting-input', 'clerk', call('scan'))
  expect(await reaches(scans, 'waiting_input')).toMatchObject({ pending: [{ kind: 'call' }] })
  // The quota of a provider is a resource, and a variable is a named thing that is missing.
  const headers = { 'retry-after': '3600' }
  await reaches(
    await start('waiting-resource', 'patient', { error: { status: 429, message: 'x', headers } }),
    'waiting_resource',
  )
  const blocked = await reaches(await start('blocked', 'keeper'), 'blocked')
  expect(blocked).toMatchObject({ pending: [{ kind: 'variables', missing: ['OWNER'] }] })
  // Its owner has declared it done, and what it has done is stored.
  const completed = await reaches(await start('completed', 'clerk', { text: 'Done' }), 'completed')
  expect(completed).toMatchObject({
    lastOutcome: { reason: 'stop_on_response' },
    queue: { waiting: 0 },
    pending: [],
  })
  await reaches(await start('failed', 'clerk', { error: { status: 400, message: 'x' } }), 'failed')
  await reaches(await start('timed-out', 'hurried', call('nap'), call('nap')), 'timed_out')
  await asks.stop()
  expect(await reaches(asks, 'cancelled')).toMatchObject({ lastOutcome: { reason: 'stopped' } })
  await asks.queueTool('nap', {}, { id: 'later' })
  expect(await reaches(asks, 'queued')).toMatchObject({ queue: { resumes: 'parked', waiting: 1 } })
  // Nobody can prove that somebody works on it.
  await scans.workflow.terminate()
  await reaches(scans, 'lost')
  await fixture.endWorker()
  expect(await reaches(running, 'stale')).toMatchObject({ status: 'running', stale: true })
})

test('AR-ES.9 AR-EC.7 the stream of a provider is told as requests, deltas, reasoning, calls and ends', async () => {
  await fixture.close()
  fixture = await createWorkingFixture({
    ...{ registry: desk, server, workflowBundle: { codePath: inject('workflowBundlePath') } },
  })
  // Of some seconds each: a reader on a busy machine sees them before they are stored.
  const thought = 'I should think a little. '.repeat(8)
  const thread = await start(
    ...(['stream', 'clerk'] as const),
    { error: { status: 500, message: 'x' } },
    { reasoning: thought, ...call('nap'), wordDelay: 60 },
    { text: 'All of it is done now. '.repeat(8), wordDelay: 60 },
  )
  const events: AgentRuntimeEvent[] = []
  for await (const { event } of thread.view('ar')) {
    events.push(event)
    if (event.type === 'turn.completed') break
  }
  const order = events
    .map(({ type }) => type)
    .filter((type) => /^(model|reasoning|tool)\.(?!catalog)/.test(type))
  expect(order.filter((type, index) => type !== order[index - 1])).toEqual([
    ...['model.requested', 'model.failed', 'model.requested', 'reasoning.delta', 'model.completed'],
    ...[
      'reasoning.summary',
      'tool.started',
      'tool.args',
      'tool.result',
      'model.requested',
      'model.delta',
      'model.completed',
    ],
  ])
  expect(events.find(({ type }) => type === 'model.completed')?.payload).toMatchObject({
    ...{ usage: { inputTokens: 10 }, finishReason: 'tool-calls' },
  })
  expect(events.filter(({ type }) => type === 'reasoning.summary')).toMatchObject([
    { payload: { summary: thought, characters: thought.length }, refs: { message: expect.any(String) } },
  ])
})
