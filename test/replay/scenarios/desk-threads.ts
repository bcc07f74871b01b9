import { randomUUID } from 'node:crypto'

import type { ThreadHandle } from '../../../src/client/index.js'
import type { TestEnvironment } from '../../../src/testing/index.js'
import { marked } from '../../support/marker.js'
import { payload, signalRaw, startRaw } from '../../support/raw-messages.js'
import { until } from '../../support/until.js'
import type { recordedDesk } from './recorded-desk.js'
import { closed, doing, familyOf, requestOf } from './scenario.js'
import type { Scenarios } from './scenario.js'

type Environment = TestEnvironment<typeof recordedDesk>

const DEADLINE = { timeout: '80 seconds' } as const

/** Behaviours of the first releases' desk. */
export const deskThreads = ({ threads, taskQueue }: Environment): Scenarios => ({
  async 'turn-with-a-tool'() {
    const thread = await threads.create({ agent: 'desk', message: marked('look it up') })
    await thread.waitUntilIdle(DEADLINE)
    await thread.send(marked('Thanks.'))
    await thread.waitUntilIdle(DEADLINE)
    return [thread.threadId]
  },

  async 'model-call-stopped-and-continued'() {
    const thread = await threads.create({ agent: 'slow', message: marked('Hello') })
    await doing(thread, 'model')
    await thread.stop()
    await thread.waitUntilIdle(DEADLINE)
    await thread.continue()
    await doing(thread, 'model')
    await thread.stop()
    await thread.waitUntilIdle(DEADLINE)
    return [thread.threadId]
  },

  async 'tool-call-terminated'() {
    const thread = await threads.create({ agent: 'desk', message: marked('hang') })
    await doing(thread, 'tool hang')
    await thread.terminate({ reason: marked('enough') })
    await closed(thread)
    return [thread.threadId]
  },

  async 'model-failed'() {
    const thread = await threads.create({ agent: 'broken', message: marked('Hello') })
    await thread.waitUntilIdle(DEADLINE)
    return [thread.threadId]
  },

  async 'child-reported'() {
    const thread = await threads.create({ agent: 'desk', message: marked('research') })
    await thread.waitUntilIdle(DEADLINE)
    return familyOf(thread)
  },

  async 'continued-as-new-at-every-point'() {
    const thread = await threads.create({
      agent: 'desk',
      message: marked('look it up'),
      limits: { historyEvents: 0 },
    })
    await thread.waitUntilIdle(DEADLINE)
    await thread.send(marked('research'))
    await thread.waitUntilIdle(DEADLINE)
    return familyOf(thread)
  },

  async 'approved-after-a-wait'() {
    const thread = await threads.create({ agent: 'desk', message: marked('pay') })
    await respondTo(thread, { approved: true })
    await thread.send(marked('ask outside'))
    await respondTo(thread, { result: { status: 'success', result: marked('from outside') } })
    await thread.waitUntilIdle(DEADLINE)
    return [thread.threadId]
  },

  async 'prompt-as-a-tool'() {
    const thread = await threads.create({ agent: 'desk', message: marked('summarize') })
    await thread.waitUntilIdle(DEADLINE)
    return [thread.threadId]
  },

  async 'handed-over'() {
    const thread = await threads.create({ agent: 'desk', message: marked('hand over') })
    await thread.waitUntilIdle(DEADLINE)
    return [thread.threadId]
  },

  async 'queued-tools-and-an-effect'() {
    const thread = await threads.create({ agent: 'desk', message: marked('schedule') })
    await until('the effect', async () => (await answers(thread)) >= 3, 80_000)
    await thread.queueTool('look_up', { what: marked('it') })
    await thread.waitUntilIdle(DEADLINE)
    return [thread.threadId]
  },

  async 'blocked-until-variables-came'() {
    const thread = await threads.create({ agent: 'keeper', message: marked('Hello') })
    await respondTo(thread, { env: { OWNER: marked('Ann') } })
    await thread.waitUntilIdle(DEADLINE)
    return [thread.threadId]
  },

  async 'subagent-that-stays-and-an-immediate-one'() {
    const thread = await threads.create({ agent: 'lead', message: marked('create') })
    await thread.waitUntilIdle(DEADLINE)
    await thread.send(marked('again'))
    await thread.waitUntilIdle(DEADLINE)
    await thread.terminate()
    await closed(thread)
    return familyOf(thread)
  },

  async 'immediate-subagent-and-nothing-to-do'() {
    const thread = await threads.create({ agent: 'lead' })
    await thread.continue()
    await until('what came of it', async () => (await thread.messages()).messages.length >= 1, 80_000)
    await thread.waitUntilIdle({ ...DEADLINE, children: true })
    return familyOf(thread)
  },

  async 'session-that-reaches-its-turns'() {
    const thread = await threads.create({ agent: 'talkers', message: marked('Good day') })
    await thread.waitUntilIdle(DEADLINE)
    await thread.send(marked('And on'))
    await thread.waitUntilIdle(DEADLINE)
    return [thread.threadId]
  },

  async 'several-subagents-in-one-go'() {
    const thread = await threads.create({ agent: 'lead', message: marked('spread') })
    await until('what came of them', async () => (await answers(thread)) >= 3, 80_000)
    await thread.waitUntilIdle({ ...DEADLINE, children: true })
    return familyOf(thread)
  },

  async 'subagent-deferred-until-its-variables-came'() {
    const thread = await threads.create({ agent: 'lead', message: marked('key') })
    await respondTo(thread, { env: { RESEARCH_KEY: marked('open') } })
    await until('what came of it', async () => (await answers(thread)) >= 3, 80_000)
    await thread.waitUntilIdle({ ...DEADLINE, children: true })
    return familyOf(thread)
  },

  async 'unknown-signal-field-and-start-option'() {
    const threadId = `level-${randomUUID()}`
    const client = threads.temporal
    const json = (value: unknown) => payload('json/plain', JSON.stringify(value))
    const start = { agent: 'desk', message: { content: 'Hello', priority: 3 }, budget: { tokens: 5 } }
    await startRaw(client, { threadId, taskQueue, input: json(start) })
    for (const signal of ['reorder', 'attachBudget', 'somethingNewer'])
      await signalRaw(client, { threadId, signal, input: json({ name: 'look_up', names: ['A'] }) })
    await signalRaw(client, { threadId, signal: 'queueMessage', input: payload('json/plain', '{broken') })
    await signalRaw(client, { threadId, signal: 'queueMessage', input: payload(null, 'no encoding') })
    await signalRaw(client, { threadId, signal: 'stop', input: json({ runId: 'another', force: true }) })
    await signalRaw(client, {
      threadId,
      signal: 'queueMessage',
      input: json({ content: 'Again', mood: 'x' }),
    })
    const thread = threads.get(threadId)
    await until('two answers', async () => (await answers(thread)) === 2)
    await thread.waitUntilIdle(DEADLINE)
    return [threadId]
  },
})

/** Answers the one request that a thread waits for. */
async function respondTo(
  thread: ThreadHandle,
  answer: Parameters<ThreadHandle['respond']>[1],
): Promise<void> {
  await thread.respond(await requestOf(thread), answer)
}

/** 0 while a thread that was started raw has no row yet. */
async function answers(thread: Pick<ThreadHandle, 'messages'>): Promise<number> {
  const page = await thread.messages().catch(() => ({ messages: [] }))
  return page.messages.filter(({ role }) => role === 'assistant').length
}
