import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { ThreadHandle } from '../../src/client/index.js'
import { failureTypes } from '../../src/protocol/failures.js'
import type { Message } from '../../src/protocol/message.js'
import type { RecordedRun } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { payload, signalRaw, startRaw } from '../support/raw-messages.js'
import { transcript, transcriptIfKnown } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import { until } from '../support/until.js'

threeRuns((desk) => {
  test('a thread started from the command line gets its row', async () => {
    const threadId = `cli-${randomUUID()}`
    const { chat } = desk.script(threadId, { chat: () => ({ text: marked('Hi') }) })
    desk.allowInline(threadId, 'start')
    await start(threadId, { agent: 'clerk', userId: 'ann', message: { content: marked('From the shell') } })
    const thread = desk.env.threads.get(threadId)
    await until('the row', async () => (await transcriptIfKnown(thread)).length > 0)
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Hi'))
    expect(await transcript(thread)).toMatchObject([
      { role: 'user', content: marked('From the shell') },
      { role: 'assistant' },
    ])
    await thread.send(marked('And through the client'))
    await thread.waitUntilIdle()
    expect(chat.requests).toHaveLength(2)
  })

  test('a start without a store takes that of its first worker', async () => {
    const threadId = `cli-${randomUUID()}`
    desk.script(threadId, { chat: () => ({ text: marked('Hi') }) })
    desk.allowInline(threadId, 'start')
    await start(threadId, {
      agent: 'clerk',
      limits: { historyEvents: 0 },
      message: { content: marked('Hello') },
    })
    const thread = desk.env.threads.get(threadId)
    await until('the answer', async () => (await answers(thread)).length === 1)
    await thread.send(marked('And again'))
    await thread.waitUntilIdle()
    const runs = await desk.runs(threadId)
    expect(runs.length).toBeGreaterThan(1)
    // The first activity makes the row; all behind it, in later runs too, name the store.
    const [first, ...later] = storesNamed(runs)
    expect(first).toBeUndefined()
    expect(later.length).toBeGreaterThan(0)
    expect(new Set(later)).toEqual(new Set([desk.env.store.id]))
  })

  test('a thread of another store waits, and nothing is stored', async () => {
    const threadId = `foreign-${randomUUID()}`
    const { chat } = desk.script(threadId, { chat: () => ({ text: marked('Hi') }) })
    desk.allowInline(threadId, 'start')
    await start(threadId, { agent: 'clerk', store: '0123456789ab', message: { content: marked('Hello') } })
    const workflow = desk.env.threads.temporal.workflow.getHandle(threadId)
    const refused = async (): Promise<boolean> => {
      const { raw } = await workflow.describe()
      const [activity] = raw.pendingActivities ?? []
      return activity?.lastFailure?.applicationFailureInfo?.type === 'Thread.OtherStore'
    }
    await until('the refusal', refused)
    expect(await desk.env.threads.find(threadId)).toBeNull()
    expect(chat.requests).toEqual([])
    await workflow.terminate()
  })

  test('an inline message of the command line is delivered once', async () => {
    const { thread, chat } = await desk.start({ message: null, chat: [{ text: marked('Read') }] })
    desk.allowInline(thread.threadId, 'queueMessage')
    await signalRaw(desk.env.threads.temporal, {
      threadId: thread.threadId,
      signal: 'queueMessage',
      input: payload('json/plain', JSON.stringify({ content: marked('Inline') })),
    })
    await until('a request', () => chat.requests.length === 1)
    await thread.waitUntilIdle()
    expect(chat.requests[0]?.messages).toMatchObject([{ role: 'user', text: marked('Inline') }])
    expect(await transcript(thread)).toHaveLength(2)
  })

  test.each([
    ['null', payload('json/plain', 'null')],
    ['a state of its own', payload('json/plain', '{"stateVersion": 99}')],
    ['broken JSON', payload('json/plain', '{')],
  ])('T10 a second start argument, %s, is passed over', async (_fact, argument) => {
    const threadId = `cli-${randomUUID()}`
    desk.script(threadId, { chat: [{ text: marked('Hi') }] })
    desk.allowInline(threadId, 'start')
    const limits = { historyEvents: 0 }
    const start = { agent: 'clerk', limits, message: { content: marked('Hello') } }
    await startRaw(desk.env.threads.temporal, {
      threadId,
      taskQueue: desk.env.taskQueue,
      input: payload('json/plain', JSON.stringify(start)),
      more: [argument],
    })
    const thread = desk.env.threads.get(threadId)
    await until('the answer', async () => (await answers(thread)).length === 1)
    expect(await answers(thread)).toMatchObject([{ content: marked('Hi') }])
  })

  test.each([
    ['no agent', payload('json/plain', '{}')],
    ['a number as agent', payload('json/plain', '{"agent": 7}')],
    ['broken JSON', payload('json/plain', '{"agent": ')],
    ['no input', null],
    ['limits that are none', payload('json/plain', '{"agent": "clerk", "limits": 5}')],
  ])('a start with %s closes as invalid', async (_fact, input) => {
    const threadId = `invalid-${randomUUID()}`
    desk.script(threadId, {})
    const { temporal } = desk.env.threads
    await startRaw(temporal, { threadId, taskQueue: desk.env.taskQueue, input })
    const error = await temporal.workflow
      .getHandle(threadId)
      .result()
      .catch((reason: unknown) => reason)
    expect(failureTypes(error)).toContain('Thread.InvalidStart')
  })

  test('create with a known id gives that thread and sends once', async () => {
    const id = `again-${randomUUID()}`
    const { chat } = desk.script(id, { chat: () => ({ text: marked('Hi') }) })
    const create = () => desk.env.threads.create({ agent: 'clerk', id, message: marked('Hello') })
    const [first, second] = await Promise.all([create(), create()])
    await first.waitUntilIdle()
    await create()
    await second.waitUntilIdle()
    expect(chat.requests).toHaveLength(1)
    expect(await transcript(first)).toHaveLength(2)
  })

  function start(threadId: string, input: object): Promise<void> {
    const { threads, taskQueue } = desk.env
    return startRaw(threads.temporal, {
      threadId,
      taskQueue,
      input: payload('json/plain', JSON.stringify(input)),
    })
  }
})

/** The store that the input of each activity names, in order. */
function storesNamed(runs: readonly RecordedRun[]): readonly unknown[] {
  return runs.flatMap(({ history }) =>
    (history.events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => {
      const data = scheduled?.input?.payloads?.[0]?.data
      if (data == null) return []
      return [(JSON.parse(Buffer.from(data).toString()) as { readonly store?: string }).store]
    }),
  )
}

/** None while the thread has no row yet. */
async function answers(thread: ThreadHandle): Promise<readonly Message[]> {
  return (await transcriptIfKnown(thread)).filter(({ role }) => role === 'assistant')
}
