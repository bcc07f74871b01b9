import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ThreadHandle } from '../../src/client/index.js'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import { ThreadError } from '../../src/protocol/errors.js'
import { scriptedModel } from '../../src/testing/index.js'
import { createGate } from '../support/gate.js'
import type { Gate } from '../support/gate.js'
import { startLosingProxy } from '../support/losing-proxy.js'
import type { LosingProxy } from '../support/losing-proxy.js'
import { startDevServer } from '../support/servers.js'
import type { DevServer } from '../support/servers.js'
import { factTypes, transcript } from '../support/thread-facts.js'
import { until } from '../support/until.js'
import { createWorkingFixture } from './working-fixture.js'
import type { WorkingFixture } from './working-fixture.js'

/** Calls of the tools, by thread. */
const did = new Map<string, number>()
/** Models that wait for their test, by thread. */
const gates = new Map<string, Gate>()

const act = (state: { readonly threadId: string }) => {
  did.set(state.threadId, (did.get(state.threadId) ?? 0) + 1)
  return { status: 'success' } as const
}
const prompt = (name: string, tools: readonly string[]) =>
  definePrompt({
    name,
    toolDescription: 'x',
    prompt: `You are ${name}.`,
    model: 'chat',
    includeChat: true,
    tools,
  })
const KEY = [{ name: 'KEY', type: 'text', required: true, description: 'A key' }] as const
const chat = scriptedModel(async ({ system, messages }) => {
  const last = messages.at(-1)
  const [, held] = /hold (\S+)/.exec(last?.text ?? '') ?? []
  if (held !== undefined) await gates.get(held)?.passed
  const asks = system.includes('asker') && last?.role === 'user'
  return asks ? { toolCalls: [{ name: 'approved', args: {} }] } : { text: 'Done.' }
})
const desk = registry({
  models: [defineModel({ name: 'chat', provider: { languageModel: () => chat }, model: 'x' })],
  prompts: [prompt('clerk', []), prompt('asker', ['approved']), prompt('keyed', ['unlock'])],
  agents: ['clerk', 'asker', 'keyed'].map((name) => defineAgent({ name, sideA: { prompt: name } })),
  tools: {
    act: defineTool({ description: 'Acts', execute: act }),
    approved: defineTool({ description: 'Acts', needsApproval: true, execute: act }),
    unlock: defineTool({ description: 'Unlocks', variables: KEY, execute: act }),
  },
})

let server: DevServer
let proxy: LosingProxy
let fixture: WorkingFixture

beforeAll(async () => {
  server = await startDevServer()
  proxy = await startLosingProxy(server.address)
  fixture = await createWorkingFixture({ registry: desk, server, address: proxy.address })
})
afterAll(async () => {
  await fixture.close()
  await proxy.close()
  await server.stop()
})

/** Does something once for each answer that may be lost in it, until none is; what came of it is the same each time. */
async function losingEach(
  prepare: (id: string) => Promise<ThreadHandle>,
  act: (thread: ThreadHandle) => Promise<unknown>,
  outcome: (thread: ThreadHandle) => Promise<unknown>,
): Promise<readonly unknown[]> {
  const outcomes: unknown[] = []
  for (let answer = 1; ; answer += 1) {
    const thread = await prepare(`lost-${randomUUID()}`)
    proxy.lose(answer)
    await act(thread)
    const lost = proxy.stop()
    outcomes.push(await outcome(thread))
    if (!lost) break
    expect(answer).toBeLessThan(20)
  }
  // At least one was lost, and one was not.
  expect(outcomes.length).toBeGreaterThan(1)
  return [...new Set(outcomes.map((one) => JSON.stringify(one)))].map((text) => JSON.parse(text) as unknown)
}

const idle = async (id: string, agent: 'clerk' | 'asker' | 'keyed' = 'clerk'): Promise<ThreadHandle> => {
  const thread = await fixture.threads.create({ agent, id, message: 'Hello' })
  await thread.waitUntilIdle({ timeout: '100 s' })
  return thread
}

/** What the thread has to show for it. */
const result = async (thread: ThreadHandle): Promise<unknown> => {
  const { status } = await thread.waitUntilIdle({ timeout: '100 s' })
  const rows = (await transcript(thread)).map(({ role, content }) =>
    `${role} ${content ?? ''}`.replace(thread.threadId, 'T').trim(),
  )
  const types = await factTypes(thread)
  const count = (type: string): number => types.filter((one) => one === type).length
  const [runs, closed] = [count('run.started'), count('thread.closed')]
  return { status, rows, runs, closed, did: did.get(thread.threadId) ?? 0 }
}
const ONCE = { status: 'idle', closed: 0, did: 0 }

test('create makes one thread and sends one message', async () => {
  const outcomes = await losingEach(
    (id) => Promise.resolve(fixture.threads.get(id)),
    ({ threadId: id }) => fixture.threads.create({ agent: 'clerk', id, message: 'Hello' }),
    result,
  )
  expect(outcomes).toEqual([{ ...ONCE, runs: 1, rows: ['user Hello', 'assistant Done.'] }])
})

test('send delivers one message', async () => {
  const outcomes = await losingEach(idle, (thread) => thread.send('More'), result)
  const rows = ['user Hello', 'assistant Done.', 'user More', 'assistant Done.']
  expect(outcomes).toEqual([{ ...ONCE, runs: 2, rows }])
})

test('queueTool runs the tool once', async () => {
  const outcomes = await losingEach(idle, (thread) => thread.queueTool('act', {}), result)
  expect(outcomes).toMatchObject([{ ...ONCE, runs: 2, did: 1 }])
})

test('respond answers once', async () => {
  const outcomes = await losingEach(
    (id) => idle(id, 'asker'),
    (thread) => thread.respond('approval_call_1_1_0', { approved: true }),
    result,
  )
  expect(outcomes).toMatchObject([{ ...ONCE, runs: 1, did: 1 }])
})

test('setEnv unblocks once', async () => {
  const outcomes = await losingEach(
    (id) => idle(id, 'keyed'),
    (thread) => thread.setEnv({ KEY: 'x' }),
    result,
  )
  const rows = ['user Hello', expect.stringContaining('KEY'), 'assistant Done.']
  expect(outcomes).toEqual([{ ...ONCE, runs: 2, rows }])
})

/** A thread whose model waits for the gate of its id. */
const busy = async (id: string): Promise<ThreadHandle> => {
  gates.set(id, createGate())
  const thread = await fixture.threads.create({ agent: 'clerk', id, message: `hold ${id}` })
  await until('a request', async () => (await factTypes(thread)).includes('model.requested'))
  return thread
}

test('stop ends one run', async () => {
  const outcomes = await losingEach(busy, (thread) => thread.stop(), result)
  expect(outcomes).toMatchObject([{ status: 'stopped', runs: 1, closed: 0 }])
})

test('terminate closes once', async () => {
  const outcomes = await losingEach(busy, (thread) => thread.terminate(), result)
  expect(outcomes).toMatchObject([{ status: 'terminated', runs: 1, closed: 1 }])
})

test('removeQueued takes one message back', async () => {
  const outcomes = await losingEach(
    async (id) => {
      const thread = await busy(id)
      await thread.send({ content: 'Not this', id: `${id}-no` })
      await thread.send({ content: 'But this', id: `${id}-yes` })
      return thread
    },
    (thread) => thread.removeQueued(`${thread.threadId}-no`),
    async (thread) => {
      gates.get(thread.threadId)?.open()
      const { rows, ...rest } = (await result(thread)) as { readonly rows: readonly string[] }
      return { ...rest, rows: rows.slice(1) }
    },
  )
  expect(outcomes).toMatchObject([{ rows: ['assistant Done.', 'user But this', 'assistant Done.'], runs: 2 }])
})

test('every call ends in time when the server says nothing', async () => {
  const id = `silent-${randomUUID()}`
  const thread = await idle(id)
  proxy.silence(true)
  const since = performance.now()
  const calls = {
    create: fixture.threads.create({ agent: 'clerk', message: 'Hello' }),
    send: thread.send({ content: 'More', id: `${id}-more` }),
    queueTool: thread.queueTool('act', {}),
    setEnv: thread.setEnv({ KEY: 'x' }),
    stop: thread.stop(),
    continue: thread.continue(),
    wait: thread.waitUntilIdle({ timeout: '3 s' }),
    snapshot: thread.snapshot(),
  }
  const ended = await Promise.allSettled(Object.values(calls))
  expect(performance.now() - since).toBeLessThan(60_000)
  const codes = ended.map((one) => {
    if (one.status === 'fulfilled') return 'fulfilled'
    return ThreadError.isInstance(one.reason) ? one.reason.code : one.reason
  })
  const unavailable = Array.from({ length: 6 }, () => 'temporal_unavailable')
  expect(codes).toEqual([...unavailable, 'timeout', 'fulfilled'])
  expect(await calls.snapshot).toMatchObject({ stale: true, status: 'idle' })
  // What it kept is done once when the server is back, whoever repeats it.
  proxy.silence(false)
  await thread.send({ content: 'More', id: `${id}-more` })
  const { rows } = (await result(thread)) as { readonly rows: readonly string[] }
  expect(rows.filter((row) => row === 'user More')).toHaveLength(1)
})
