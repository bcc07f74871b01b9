import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { ThreadNotice } from '../../src/client/index.js'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import { WaitTimeoutError } from '../../src/protocol/errors.js'
import { assertEvents, scriptedModel } from '../../src/testing/index.js'
import type { ScriptedRequest, TestEnvironment } from '../../src/testing/index.js'
import { underContention } from '../support/contention.js'
import { createGate } from '../support/gate.js'
import { recordedRuns, searchForContent } from '../support/histories.js'
import { marked, MARKER } from '../support/marker.js'
import { testEnvironment } from '../support/test-store.js'
import { unscripted } from '../support/unscripted.js'
import { until } from '../support/until.js'
import { collect } from './client-fixture.js'

const variables = [{ name: 'KEY', type: 'secret', required: true, description: 'Key of the shop' }] as const
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
      tools: ['scan'],
    }),
    definePrompt({
      name: 'keeper',
      toolDescription: 'Answers',
      prompt: 'You are the keeper.',
      model: 'chat',
      includeChat: true,
      tools: ['unlock'],
    }),
  ],
  agents: [
    defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } }),
    defineAgent({ name: 'keeper', sideA: { prompt: 'keeper' } }),
  ],
  tools: {
    scan: defineTool({ description: 'Scans in a browser', execute: () => ({ status: 'pending' }) }),
    unlock: defineTool({ description: 'Unlocks', variables, execute: () => ({ status: 'success' }) }),
    count: defineTool({
      description: 'Counts',
      args: z.object({ from: z.number(), note: z.string() }),
      execute: (_state, { from, note }) => ({ status: 'success', result: `${from + 1} ${note}` }),
    }),
  },
})

interface Reply {
  readonly text?: string
  readonly toolCalls?: readonly { readonly name: string }[]
  readonly delay?: number
}
const script: { reply: (request: ScriptedRequest) => Reply | Promise<Reply> } = {
  reply: () => ({ text: marked('Hello') }),
}
let env: TestEnvironment<typeof desk>

beforeAll(async () => {
  const chat = scriptedModel((request) => script.reply(request))
  env = await testEnvironment({ registry: desk, models: { chat } })
})
afterAll(() => env.close())

test('a queued tool runs in its turn, whatever the prompt lists', async () => {
  script.reply = (request) => ({ text: `Got ${request.messages.at(-1)?.text}` })
  const thread = await env.threads.create({ agent: 'clerk' })
  const args = { from: 4, note: MARKER }
  const { toolCallId } = await thread.queueTool('count', args, { id: 'count-1' })
  await thread.queueTool('count', args, { id: 'count-1' })
  expect((await thread.waitUntilIdle()).reply?.content).toBe(`Got 5 ${MARKER}`)
  await thread.queueTool('count', args, { id: 'count-1' })
  const { messages } = await thread.messages()
  expect(messages.map(({ role, tool_call_id: id }) => [role, id])).toEqual([
    ['assistant', null],
    ['tool', toolCallId],
    ['assistant', null],
  ])
  await leaksNothing(thread.threadId)
})

test('a call that waits takes its result, with a file', async () => {
  script.reply = ({ messages }) => {
    const last = messages.at(-1)
    return last?.role === 'tool' ? { text: `Scanned ${last.text}` } : { toolCalls: [{ name: 'scan' }] }
  }
  const thread = await env.threads.create({ agent: 'clerk', message: marked('Scan it') })
  expect((await thread.waitUntilIdle()).status).toBe('waiting_input')
  const [request] = await collect(env.threads.pending({ agent: 'clerk' }))
  expect(request).toMatchObject({ threadId: thread.threadId, kind: 'call', toolName: 'scan' })
  const data = Buffer.from(MARKER)
  await thread.respond(request?.id ?? '', {
    result: {
      status: 'success',
      result: MARKER,
      attachments: [{ name: 'scan.txt', mimeType: 'text/plain', data }],
    },
  })
  expect((await thread.waitUntilIdle()).reply?.content).toContain(`Scanned ${MARKER}`)
  const { messages } = await thread.messages()
  expect(messages.find(({ role }) => role === 'tool')?.attachments).toMatchObject([
    { path: '/attachments/scan.txt', size: data.length },
  ])
  expect(await collect(env.threads.pending())).toEqual([])
  await assertEvents(thread, ['action.required', 'action.resolved', 'tool.result', 'run.completed'])
  await leaksNothing(thread.threadId)
})

test('a wait that is too short names what still runs', async () => {
  const gate = createGate()
  let isAsked = false
  script.reply = async () => {
    isAsked = true
    await gate.passed
    return { text: marked('Late') }
  }
  const thread = await env.threads.create({ agent: 'clerk', message: marked('Take your time') })
  await until('its model to be asked', () => isAsked)
  const error: unknown = await thread
    .waitUntilIdle({ timeout: '5 seconds' })
    .catch((caught: unknown) => caught)
  expect(WaitTimeoutError.isInstance(error) && error).toMatchObject({ status: 'running', stale: false })
  expect(String(error)).toContain('got status "running": model in step 1 of run_1')
  gate.open()
  expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Late'))
})

test('on the time-skipping server a wait queries once, when the store shows no more work', async () => {
  script.reply = () => ({ text: marked('Slow'), delay: 6_000 })
  const queries = vi.spyOn(env.threads.temporal.workflowService, 'queryWorkflow')
  const counts: number[] = []
  // A turn on a busy machine may store nothing for so long that its wait asks why.
  while (counts.length < 5 && !counts.includes(1)) {
    queries.mockClear()
    const thread = await env.threads.create({ agent: 'clerk', message: marked('Take your time') })
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Slow'))
    counts.push(queries.mock.calls.length)
  }
  expect(Math.min(...counts)).toBe(1)
  queries.mockRestore()
})

test.each(['respond', 'setEnv'] as const)('a blocked run goes on after %s', async (way) => {
  script.reply = () => ({ text: marked('Open') })
  const thread = await env.threads.create({ agent: 'keeper', message: marked('Open it') })
  expect(await thread.waitUntilIdle()).toMatchObject({ status: 'blocked', reason: 'blocked' })
  const [request] = (await thread.snapshot()).pending
  expect(request).toMatchObject({ kind: 'variables', agent: 'keeper', required: ['KEY'], missing: ['KEY'] })
  if (way === 'setEnv') await thread.setEnv({ KEY: MARKER })
  else await thread.respond(request?.id ?? '', { env: { KEY: MARKER } })
  expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reply: { content: marked('Open') } })
  const events = await collect(thread.events({ follow: false }))
  const actions = events.filter(({ type }) => type.startsWith('action.'))
  expect(actions).toMatchObject([
    { type: 'action.required', payload: { requestId: request?.id, missing: ['KEY'] } },
    { type: 'action.resolved', payload: { requestId: request?.id, decision: 'supplied' } },
  ])
  expect((await thread.snapshot()).pending).toEqual([])
  await leaksNothing(thread.threadId)
})

test('a stop ends what was asked, a late answer finds nothing', async () => {
  script.reply = () => ({ toolCalls: [{ name: 'scan' }] })
  const thread = await env.threads.create({ agent: 'clerk', message: marked('Scan it') })
  await thread.waitUntilIdle()
  const [request] = (await thread.snapshot()).pending
  await thread.stop()
  expect((await thread.waitUntilIdle()).status).toBe('stopped')
  const late = thread.respond(request?.id ?? '', { result: { status: 'success' } })
  await expect(late).rejects.toMatchObject({ code: 'request_not_found' })
  expect((await thread.snapshot()).pending).toEqual([])
})

test('E4 a wait for what no worker has is told of it within three seconds', async () => {
  script.reply = () => ({ text: marked('Hello') })
  const thread = await env.threads.create({ agent: 'clerk' })
  await thread.queueTool('gone' as 'count', { from: 1, note: MARKER })
  const notices: ThreadNotice[] = []
  const told = (): Promise<number> =>
    new Promise((resolve) => {
      const began = Date.now()
      const onNotice = (notice: ThreadNotice): void => {
        notices.push(notice)
        resolve(Date.now() - began)
      }
      // It goes on behind the test: the thread gives up after a minute.
      void thread.waitUntilIdle({ timeout: 9_000, onNotice }).catch(() => resolve(Infinity))
    })
  const { result: after, factor } = await underContention(told)
  expect(after).toBeLessThan(3000 * factor)
  const { threadId } = thread
  expect(notices).toMatchObject([{ code: 'missing_definition', threadId }])
  expect(notices[0]?.message).toContain(
    `Thread "${threadId}" waits at "tool gone": a worker of its task queue`,
  )
})

async function leaksNothing(threadId: string): Promise<void> {
  expect(searchForContent(await recordedRuns(env.threads.temporal, threadId)).leaks).toEqual([])
}
