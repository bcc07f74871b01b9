import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { putVariables } from '../../src/client/answers/set-variables.js'
import type { Examine, Finding, ThreadHandle } from '../../src/client/index.js'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import type { ControlSnapshot } from '../../src/protocol/status.js'
import { answerRequest } from '../../src/store/calls/requests.js'
import type { Decision } from '../../src/store/calls/requests.js'
import { updateThread } from '../../src/store/threads/threads.js'
import { scriptedModel } from '../../src/testing/index.js'
import { recordedRuns, searchForContent } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { startDevServer } from '../support/servers.js'
import type { DevServer } from '../support/servers.js'
import { toolResults } from '../support/thread-facts.js'
import { until } from '../support/until.js'
import { collect } from './client-fixture.js'
import { askRequest } from './request-rows.js'
import { createWorkingFixture } from './working-fixture.js'
import type { WorkingFixture } from './working-fixture.js'

const KEY = [{ name: 'KEY', type: 'text', required: true, description: 'A key' }] as const
const LOCK = [{ ...KEY[0], name: 'LOCK', type: 'secret', scoped: true }] as const
const CALLS: Readonly<Record<string, { readonly name: string; readonly args: object }>> = {
  approver: { name: 'approved', args: {} },
  caller: { name: 'called', args: {} },
  parent: { name: 'opener', args: { task: 'Open' } },
  opener: { name: 'leave', args: { result: marked('Opened') } },
}
/** Each prompt that has a call makes it once. */
const chat = scriptedModel(({ system, messages }) => {
  const call = Object.entries(CALLS).find(([name]) => system.includes(name))?.[1]
  return call !== undefined && messages.length === 1 ? { toolCalls: [call] } : { text: 'Done.' }
})
const voice = { toolDescription: 'x', model: 'chat', includeChat: true } as const
const prompt = (name: string, tools: readonly string[]) =>
  definePrompt({ ...voice, name, prompt: `You are the ${name}.`, tools })
const agents = ['approver', 'caller', 'keyed', 'parent'] as const
const desk = registry({
  models: [defineModel({ name: 'chat', provider: { languageModel: () => chat }, model: 'x' })],
  prompts: [
    prompt('approver', ['approved']),
    prompt('caller', ['called']),
    prompt('keyed', ['unlock']),
    definePrompt({
      ...voice,
      name: 'parent',
      prompt: 'You are the parent.',
      tools: [{ name: 'opener', initUserMessageProperty: 'task' }],
    }),
    definePrompt({
      ...voice,
      name: 'opener_side',
      prompt: 'You are the opener.',
      requiredSchema: z.object({ task: z.string() }),
      variables: LOCK,
      tools: ['leave'],
    }),
  ],
  agents: [
    ...agents.map((name) => defineAgent({ name, sideA: { prompt: name } })),
    defineAgent({
      name: 'opener',
      type: 'dual_ai',
      sideA: { prompt: 'opener_side', sessionStop: { name: 'leave', messageProperty: 'result' } },
      sideB: { prompt: 'opener_side' },
      maxSessionTurns: 4,
      exposeAsTool: true,
      toolDescription: 'Opens',
    }),
  ],
  tools: {
    approved: defineTool({
      description: 'Acts',
      needsApproval: true,
      execute: () => ({ status: 'success', result: 'It acted' }),
    }),
    leave: defineTool({
      description: 'Ends',
      args: z.object({ result: z.string() }),
      execute: () => ({ status: 'success' }),
    }),
    called: defineTool({ description: 'Asks outside', execute: () => ({ status: 'pending' }) }),
    unlock: defineTool({ description: 'Unlocks', variables: KEY, execute: () => ({ status: 'success' }) }),
  },
})

let server: DevServer
let fixture: WorkingFixture

beforeAll(async () => {
  server = await startDevServer()
  fixture = await createWorkingFixture({ registry: desk, server })
})
afterAll(async () => {
  await fixture.close()
  await server.stop()
})

const findings = async (thread: ThreadHandle, options: Examine = {}): Promise<readonly Finding[]> => {
  const all = await collect(fixture.threads.doctor(options))
  return all.filter(({ threadId }) => threadId === thread.threadId)
}

/** A thread that waits for the answer of one request. */
async function asked(agent: (typeof agents)[number]): Promise<{ thread: ThreadHandle; id: string }> {
  const thread = await fixture.threads.create({ agent, id: `${agent}-${randomUUID()}`, message: 'Hello' })
  await thread.waitUntilIdle({ timeout: '100 s' })
  const [request] = (await thread.snapshot()).pending
  return { thread, id: request?.id ?? 'none' }
}

/** As a caller leaves it that died between row and Update, some time ago unless told otherwise. */
async function die(thread: ThreadHandle, decision: Omit<Decision, 'threadId' | 'now'>, now = 1) {
  const { threadId } = thread
  expect(await fixture.store.write((tx) => answerRequest(tx, { threadId, ...decision, now }))).toBe(
    'answered',
  )
}

/** It is found, told of once, and then nothing is left. */
async function expectTold({ thread, id }: { readonly thread: ThreadHandle; readonly id: string }) {
  const { threadId } = thread
  const found = { kind: 'untold_answer', threadId, problem: expect.stringContaining(`"${id}"`) }
  expect(await findings(thread)).toMatchObject([{ ...found, fixed: false }])
  expect((await thread.snapshot()).pending).toMatchObject([{ id }])
  expect(await findings(thread, { fix: true })).toMatchObject([{ ...found, fixed: true }])
  expect(await thread.waitUntilIdle({ timeout: '100 s' })).toMatchObject({
    status: 'idle',
    reply: { content: 'Done.' },
  })
  expect(await findings(thread, { fix: true })).toEqual([])
  const runs = await recordedRuns(fixture.threads.temporal, threadId)
  expect(searchForContent(runs).leaks).toEqual([])
}

test('T5 an approval that nobody told of is told', async () => {
  const request = await asked('approver')
  await die(request.thread, { id: request.id, approved: true, by: marked('Somebody') })
  await expectTold(request)
  expect(await toolResults(request.thread)).toMatchObject([{ content: expect.stringContaining('It acted') }])
})

test('T5 a denial that nobody told of stays one', async () => {
  const request = await asked('approver')
  await die(request.thread, { id: request.id, approved: false, reason: marked('Too much') })
  await expectTold(request)
  expect(await toolResults(request.thread)).toMatchObject([
    { content: expect.stringContaining(marked('Too much')) },
  ])
})

test('T5 a result that nobody told of is told', async () => {
  const request = await asked('caller')
  await die(request.thread, { id: request.id, answer: { status: 'success', result: marked('From outside') } })
  await expectTold(request)
  expect(await toolResults(request.thread)).toMatchObject([
    { content: expect.stringContaining(marked('From outside')) },
  ])
})

test('T5 variables that nobody told of are told', async () => {
  const request = await asked('keyed')
  const { threadId } = request.thread
  const { store } = fixture
  await store.write((tx) => putVariables(tx, store.secrets, { threadId, values: { KEY: marked('Key') } }))
  await die(request.thread, { id: request.id, answer: { names: ['KEY'] } })
  await expectTold(request)
})

test('T5 variables of a subagent that nobody told of start it', async () => {
  const request = await asked('parent')
  const [child] = (await request.thread.snapshot()).children
  expect(child).toMatchObject({ status: 'deferred' })
  const { store } = fixture
  const of = { threadId: child?.reference ?? '', values: { LOCK: marked('Key') }, forGraph: true } as const
  await store.write((tx) => putVariables(tx, store.secrets, of))
  await die(request.thread, { id: request.id, answer: { names: ['LOCK'] } })
  await expectTold(request)
  await until('the end of the child', async () => {
    const [ended] = (await request.thread.snapshot()).children
    return ended?.status === 'completed'
  })
})

test('an answer of just now is on its way', async () => {
  const { thread, id } = await asked('approver')
  await die(thread, { id, approved: true }, Date.now() * 1000)
  expect(await findings(thread, { fix: true })).toEqual([])
  await thread.respond(id, { approved: true })
})

test('an answer that its workflow has is no finding', async () => {
  const { thread } = await asked('keyed')
  // Its activity has not begun yet.
  const id = await askRequest(fixture.store, { thread: thread.threadId })
  await die(thread, { id, approved: true })
  expect(await findings(thread, { fix: true })).toEqual([])
})

test('T8 a thread that was asked to end is told nothing', async () => {
  const { thread, id } = await asked('approver')
  await die(thread, { id, approved: true })
  // Its workflow has not heard yet, and waits.
  const terminating = { terminate_requested_at: Date.now() * 1000 }
  await fixture.store.write((tx) => updateThread(tx, thread.threadId, terminating))
  expect(await findings(thread, { fix: true })).toEqual([])
  expect((await thread.workflow.query<ControlSnapshot>('snapshot')).pending).toMatchObject([{ id }])
  await thread.terminate()
})

test('without a worker nobody says whether an answer was told', async () => {
  const { thread, id } = await asked('approver')
  await die(thread, { id, approved: true })
  await fixture.endWorker()
  expect(await findings(thread, { fix: true })).toMatchObject([{ kind: 'unasked', fixed: false }])
})
