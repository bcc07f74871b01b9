/** Forks of threads that a worker runs, and of rows that a test writes. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import type { ThreadHandle } from '../../src/client/index.js'
import {
  ConfigError,
  defineAgent,
  defineModel,
  definePrompt,
  defineTool,
  MessageNotFoundError,
  registry,
  ThreadConflictError,
  ThreadNotFoundError,
} from '../../src/index.js'
import { insertBoundary, lastBoundary } from '../../src/store/messages/context-boundaries.js'
import { appendMessage } from '../../src/store/messages/delivery.js'
import { updateThread } from '../../src/store/threads/threads.js'
import { findVariables, getValue, setValue } from '../../src/store/threads/variables.js'
import { createTestEnvironment, scriptedModel } from '../../src/testing/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { addChildRows } from '../support/child-rows.js'
import { unscripted } from '../support/unscripted.js'
import { until } from '../support/until.js'

const order = z.object({ order: z.string() })

const desk = registry({
  models: [defineModel({ name: 'voice', provider: unscripted, model: 'voice' })],
  prompts: [
    definePrompt({
      ...{ name: 'desk', model: 'voice', prompt: 'You help.', toolDescription: 'Helps', includeChat: true },
      ...{ includePastTools: true, tools: ['look', 'refund', { name: 'boss', session: false }] as never },
    }),
    definePrompt({
      name: 'leader',
      model: 'voice',
      prompt: 'You decide.',
      toolDescription: 'Decides',
      includeChat: true,
    }),
  ],
  agents: [
    defineAgent({ name: 'desk', sideA: { prompt: 'desk' } }),
    defineAgent({
      name: 'boss',
      exposeAsTool: true,
      toolDescription: 'Decides',
      sideA: { prompt: 'leader' },
    }),
  ] as never,
  tools: {
    look: defineTool({
      ...{ description: 'Looks', args: order },
      execute: () => ({
        ...{ status: 'success', result: 'A tent.' },
        attachments: [
          { name: 'tent.txt', mimeType: 'text/plain', data: Buffer.from('tent').toString('base64') },
        ],
      }),
    }),
    refund: defineTool({
      ...{ description: 'Refunds', args: order, needsApproval: true },
      execute: () => ({ status: 'success', result: 'Refunded.' }),
    }),
  },
})

let env: TestEnvironment

/** Says the last message again, with the number of messages that it has read; calls the tool that the message names. */
const voice = scriptedModel((request) => {
  const { messages } = request
  const last = messages.at(-1)
  const text = JSON.stringify(last ?? '')
  const named = /call (look|refund|boss)/.exec(text)?.[1]
  if (named !== undefined) return { toolCalls: [{ name: named, args: { order: 'A-17' } }] }
  return { text: `${messages.length} messages.` }
})

beforeAll(async () => {
  env = (await createTestEnvironment({ registry: desk, models: { voice } as never, server: 'dev' })) as never
}, 60_000)
afterAll(() => env.close())

let count = 0
async function talk(...texts: readonly string[]): Promise<ThreadHandle> {
  count += 1
  const thread = await env.threads.create({
    ...{ agent: 'desk' as never, id: `forks-${count}`, account: 'acme', userId: 'ann', title: 'A tent' },
    ...{ tags: ['vip'], budgets: { thread: { maxSteps: 50 } }, env: { token: 'hush' } },
  })
  for (const [index, content] of texts.entries()) {
    await thread.send({ content, id: `m${index + 1}` })
    await thread.waitUntilIdle()
  }
  return thread
}

const rows = async (thread: ThreadHandle) =>
  (await thread.messages({ limit: 500, includeSilent: true })).messages
const eventsOf = async (thread: ThreadHandle) => {
  const events = []
  for await (const event of thread.events({ follow: false })) events.push(event)
  return events
}
const textsOf = async (thread: ThreadHandle) =>
  (await rows(thread)).map(({ role, content }) => `${role}: ${content}`)

test('AR-S3.5 a fork has the transcript up to a message, goes on by itself, and outlives the deletion of its origin', async () => {
  const origin = await talk('One', 'call look', 'Three')
  await env.store.write((tx) => setValue(tx, { threadId: origin.threadId, key: 'colour', value: 'red' }))
  const before = await rows(origin)
  const calls = before.findIndex(({ tool_calls: made }) => made !== null)
  const fork = await env.threads.fork(origin.threadId, {
    before: 'm3',
    message: { content: 'Other', id: 'm3' },
  })
  expect(await fork.waitUntilIdle()).toMatchObject({ runId: 'run_4', reply: { content: '7 messages.' } })
  const taken = before.slice(0, -2)
  expect((await rows(fork)).slice(0, -2)).toEqual(taken)
  expect((await textsOf(fork)).slice(-2)).toEqual(['user: Other', 'assistant: 7 messages.'])
  const forkedFrom = { threadId: origin.threadId, messageId: taken.at(-1)?.id }
  expect(await fork.snapshot()).toMatchObject({ parent: null, root: fork.threadId, forkedFrom, children: [] })
  expect(await env.threads.find(fork.threadId)).toMatchObject({
    ...{ account: 'acme', userId: 'ann', title: 'A tent', tags: ['vip'], forkedFrom },
  })
  const [first] = await eventsOf(fork)
  expect(first).toMatchObject({
    type: 'thread.started',
    payload: { agent: 'desk', parent: null, forkedFrom },
  })
  const call = JSON.parse(before[calls]?.tool_calls ?? '[]') as [{ id: string }]
  expect(await fork.toolCall(call[0].id)).toMatchObject({
    status: 'succeeded',
    result: { content: 'A tent.' },
  })
  // The origin has not changed, and its end takes nothing away.
  expect(await rows(origin)).toEqual(before)
  expect((await origin.snapshot()).forkedFrom).toBeNull()
  await origin.terminate()
  await until('closed', async () => (await env.threads.find(origin.threadId))?.closedAt !== null)
  await env.threads.deleteThread(origin.threadId)
  await env.threads.sweep({ closedFor: 1, now: Date.now() + 40 * 24 * 3600 * 1000 })
  expect(await rows(fork)).toHaveLength(taken.length + 2)
  const file = await fork.readFile('/attachments/tent.txt')
  expect(Buffer.from(file ?? new ArrayBuffer()).toString()).toBe('tent')
  await fork.send('And now?')
  expect((await fork.waitUntilIdle()).reply?.content).toBe('9 messages.')
})

test('regenerate answers the last message of a person again, or an earlier one, with its files', async () => {
  const origin = await talk('One')
  await origin.send({
    ...{ content: 'See this', id: 'file', metadata: { from: 'page' } },
    attachments: [{ name: 'a.txt', mimeType: 'text/plain', data: Buffer.from('a').toString('base64') }],
  })
  await origin.waitUntilIdle()
  const before = await rows(origin)
  const again = await origin.regenerate()
  await again.waitUntilIdle()
  expect(again.threadId).not.toBe(origin.threadId)
  expect(
    (await rows(again))
      .map(({ id, content, attachments, metadata }) => ({ id, content, attachments, metadata }))
      .slice(0, 3),
  ).toEqual(
    before
      .slice(0, 3)
      .map(({ id, content, attachments, metadata }) => ({ id, content, attachments, metadata })),
  )
  expect(await textsOf(again)).toHaveLength(4)
  const first = await origin.regenerate({ messageId: 'm1', id: `${origin.threadId}-first` })
  await first.waitUntilIdle()
  expect(await textsOf(first)).toEqual(['user: One', 'assistant: 1 messages.'])
  expect((await first.snapshot()).forkedFrom).toEqual({ threadId: origin.threadId, messageId: null })
  // Repeated, it is the same fork, and its message is there once.
  const repeated = await origin.regenerate({ messageId: 'm1', id: `${origin.threadId}-first` })
  await repeated.waitUntilIdle()
  expect(await textsOf(repeated)).toHaveLength(2)
  expect(await rows(origin)).toEqual(before)
})

test('a fork of a fork has run numbers, calls and the origin of its own', async () => {
  const origin = await talk('One', 'call look')
  const fork = await env.threads.fork(origin.threadId)
  expect(await fork.snapshot()).toMatchObject({ status: 'idle', run: null, lastRun: null })
  await fork.send('call look')
  await fork.waitUntilIdle()
  const second = await env.threads.fork(fork.threadId, { message: 'call look' })
  expect(await second.waitUntilIdle()).toMatchObject({ runId: 'run_4' })
  const calls = (await rows(second)).flatMap(
    ({ tool_calls: made }) => JSON.parse(made ?? '[]') as { id: string }[],
  )
  expect(calls.map(({ id }) => id)).toEqual(['call_2_1_0', 'call_3_1_0', 'call_4_1_0'])
  expect((await second.snapshot()).forkedFrom?.threadId).toBe(fork.threadId)
})

test('a fork of a running thread ends the calls that have no result in it, and asks nobody', async () => {
  const origin = await talk('One')
  await origin.send({ content: 'call refund', id: 'm2' })
  const request = await until('a request', async () => (await origin.snapshot()).pending[0])
  const fork = await env.threads.fork(origin.threadId)
  expect((await fork.snapshot()).pending).toEqual([])
  expect((await textsOf(fork)).at(-1)).toMatch(/^tool: This call was interrupted/)
  expect(await fork.toolCall('call_2_1_0')).toMatchObject({ status: 'interrupted' })
  await fork.send('Go on')
  expect((await fork.waitUntilIdle()).reply?.content).toBe('6 messages.')
  // An answer in the origin is an answer there alone.
  await origin.respond(request.id, { approved: true })
  await origin.waitUntilIdle()
  expect(await origin.toolCall('call_2_1_0')).toMatchObject({ status: 'succeeded' })
  expect(await fork.toolCall('call_2_1_0')).toMatchObject({ status: 'interrupted' })
})

test('a fork has the agent, the context and the files that its origin had at the cut, and its values and secrets of now', async () => {
  const origin = await talk('One', 'call boss')
  expect((await env.threads.find(origin.threadId))?.agent).toBe('boss')
  await origin.writeFile('/late.txt', 'late', 'text/plain')
  const boundary = { threadId: origin.threadId, side: 'a', kind: 'window', operation: 'o' } as const
  const detail = { opening: null, clipped: null, dropped: 0, cuts: 0 }
  const written = { ...boundary, detail, tokensBefore: 9, tokensAfter: 4, createdAt: 1 }
  await env.store.write(async (tx) => {
    await setValue(tx, { threadId: origin.threadId, key: 'colour', value: 'red' })
    await insertBoundary(tx, { ...written, position: 2 })
    await insertBoundary(tx, { ...written, position: 4 })
  })
  const early = await env.threads.fork(origin.threadId, { before: 'm2' })
  const late = await env.threads.fork(origin.threadId)
  expect((await env.threads.find(early.threadId))?.agent).toBe('desk')
  expect((await env.threads.find(late.threadId))?.agent).toBe('boss')
  const contextOf = (id: string) => env.store.read((db) => lastBoundary(db, id, 'a'))
  expect((await contextOf(early.threadId))?.position).toBe(2)
  expect((await contextOf(late.threadId))?.position).toBe(4)
  expect(await early.statFile('/late.txt')).toBeNull()
  expect(await late.statFile('/late.txt')).toMatchObject({ size: 4 })
  for (const { threadId } of [early, late])
    await env.store.read(async (db) => {
      expect(await getValue(db, threadId, 'colour')).toBe('red')
      const [secret] = await findVariables(db, threadId, ['token'])
      const { value, key_id: keyId } = secret ?? {}
      expect(
        env.store.secrets.open({ value: value ?? '', keyId: keyId ?? '' }, { threadId, name: 'token' }),
      ).toBe('hush')
    })
})

test('closed and archived threads are forked, and what cannot be is refused by name', async () => {
  const origin = await talk('One')
  const { threadId: id } = origin
  const forks = (options: object, of = id) => env.threads.fork(of, options)
  await expect(forks({ at: 'nothing' })).rejects.toThrow(MessageNotFoundError)
  await expect(forks({}, 'nobody')).rejects.toThrow(ThreadNotFoundError)
  await expect(forks({ at: 'm1', before: 'm1' })).rejects.toThrow(ConfigError)
  await expect(forks({ again: true, message: 'x' })).rejects.toThrow('leave one of them out')
  await expect(forks({ id: '' })).rejects.toThrow(ConfigError)
  const answer = (await rows(origin)).at(-1)?.id ?? ''
  await expect(forks({ again: true, before: answer })).rejects.toThrow('Expected a message of a person')
  const other = await talk()
  await expect(forks({ id: other.threadId })).rejects.toThrow(ThreadConflictError)
  await addChildRows(env.store, { id: `${id}-c`, parent: id, root: id })
  await expect(forks({}, `${id}-c`)).rejects.toThrow(`a subagent of "${id}"`)
  await env.threads.sessions.archive(id)
  expect(await textsOf(await forks({}))).toHaveLength(2)
  await env.store.write((tx) => updateThread(tx, id, { status: 'deleting', closed_at: 0 }))
  await expect(forks({})).rejects.toThrow('which is being deleted')
  const closing = await talk('One')
  await closing.terminate()
  await until('closed', async () => (await env.threads.find(closing.threadId))?.closedAt !== null)
  const fork = await forks({ message: 'More' }, closing.threadId)
  expect((await fork.waitUntilIdle()).reply?.content).toBe('3 messages.')
})

test('a thread of 10,000 messages is forked in one transaction, in seconds', async () => {
  const origin = await talk()
  const { threadId } = origin
  await env.store.write(async (tx) => {
    const row = { role: 'user', content: 'x'.repeat(500), createdAt: 1, sentBy: 'client' } as const
    for (let at = 0; at < 10_000; at += 1) await appendMessage(tx, { ...row, id: `r${at}`, threadId })
  })
  const begun = Date.now()
  const fork = await env.threads.fork(threadId, { at: 'r9998' })
  const took = Date.now() - begun
  expect(took).toBeLessThan(5000)
  const { messages } = await fork.messages({ limit: 2 })
  expect(messages.map(({ id, position }) => [id, position])).toEqual([
    ['r9997', 9998],
    ['r9998', 9999],
  ])
  await fork.send({ content: 'More', id: 'more' })
  await fork.waitUntilIdle()
  expect((await fork.messages({ limit: 2 })).messages.map(({ position }) => position)).toEqual([
    10_000, 10_001,
  ])
})
