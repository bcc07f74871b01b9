import { expect, test } from 'vitest'

import { createGate } from '../support/gate.js'
import { activitiesAtOnce } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { factTypes, transcript } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import { until } from '../support/until.js'

const work = { name: 'work', args: { task: marked('count') } }
const numbered = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => marked(`Nr ${index}`))

threeRuns(
  (desk) => {
    test('SA-R-01.4 SA-R-09.2 a message during a tool is in the next request', async () => {
      const gate = createGate()
      const { thread, chat } = await desk.start({
        chat: [{ toolCalls: [work] }, { text: marked('Both') }],
        tools: { work: async () => (await gate.passed, { status: 'success', result: marked('ok') }) },
      })
      await until('a running tool', async () => (await factTypes(thread)).includes('tool.started'))
      await thread.send(marked('Wait, also this'))
      gate.open()
      const run = await thread.waitUntilIdle()
      expect(chat.requests).toHaveLength(2)
      expect(chat.requests[1]?.messages.at(-1)).toMatchObject({
        role: 'user',
        text: marked('Wait, also this'),
      })
      expect(run).toMatchObject({ runId: 'run_1', steps: 2 })
    })

    test('SA-R-01.4 a message during a model call starts the next run', async () => {
      const gate = createGate()
      const { thread, chat } = await desk.start({
        chat: [async () => (await gate.passed, { text: marked('First') }), { text: marked('Second') }],
      })
      await until('a request', () => chat.requests.length === 1)
      await thread.send(marked('More'))
      gate.open()
      expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Second'))
      expect(chat.requests[1]?.messages.map(({ text }) => text)).toEqual([
        marked('Hello'),
        marked('First'),
        marked('More'),
      ])
    })

    test('SA-R-02.2 a message that a tool queues starts a request with it', async () => {
      const { thread, chat } = await desk.start({
        chat: [{ toolCalls: [work] }, { text: marked('Seen') }],
        tools: {
          work: async (state) => {
            await state.queueMessage({ role: 'user', content: marked('From the tool') })
            return { status: 'success', result: marked('queued') }
          },
        },
      })
      await thread.waitUntilIdle()
      expect(chat.requests[1]?.messages.at(-1)).toMatchObject({ role: 'user', text: marked('From the tool') })
      expect(chat.requests).toHaveLength(2)
    })

    test('SA-R-02.2 a message that an ending run queued starts a run', async () => {
      const { thread, chat } = await desk.start({
        agent: 'closer',
        chat: [{ toolCalls: [{ name: 'finish' }] }, { text: marked('Next run') }],
        tools: {
          finish: async (state) => {
            await state.queueMessage({ role: 'user', content: marked('Go on') })
            return { status: 'success' }
          },
        },
      })
      expect(await thread.waitUntilIdle()).toMatchObject({ runId: 'run_2', reason: 'stop_on_response' })
      expect(chat.requests).toHaveLength(2)
    })

    test('SA-R-02.5 messages during a step wait in the queue', async () => {
      const gate = createGate()
      const { thread, chat } = await desk.start({
        chat: [async () => (await gate.passed, { text: marked('First') }), { text: marked('Rest') }],
      })
      await until('a request', () => chat.requests.length === 1)
      for (const text of numbered(3)) await thread.send(text)
      const { queue } = await until('three waiting', async () => {
        const snapshot = await thread.snapshot()
        return snapshot.queue.length === 3 && snapshot
      })
      expect(queue.map(({ kind }) => kind)).toEqual(['message', 'message', 'message'])
      gate.open()
      await thread.waitUntilIdle()
      expect(chat.requests).toHaveLength(2)
      expect(activitiesAtOnce(await desk.runs(thread.threadId))).toBe(1)
    })

    test('K-9 SA-R-13.5 SA-R-09.1 SA-R-09.5 twenty messages survive a restart, once and in order', async () => {
      const gate = createGate()
      const { thread, chat } = await desk.start({
        chat: (request) =>
          request.messages.length < 3
            ? gate.passed.then(() => ({ text: marked('Read') }))
            : { text: marked('Read') },
      })
      await until('a request', () => chat.requests.length === 1)
      for (const text of numbered(10)) await thread.send(text)
      await desk.env.restartWorker()
      for (const text of numbered(20).slice(10)) await thread.send(text)
      gate.open()
      await thread.waitUntilIdle({ timeout: '100 s' })
      const users = (await transcript(thread))
        .filter(({ role }) => role === 'user')
        .map(({ content }) => content)
      expect(users).toEqual([marked('Hello'), ...numbered(20)])
      const last = chat.requests.at(-1)?.messages.filter(({ role }) => role === 'user')
      expect(last?.map(({ text }) => text)).toEqual([marked('Hello'), ...numbered(20)])
    })

    test('SA-R-13.5 SA-R-09.3 a message to an idle thread makes exactly one turn', async () => {
      const { thread, chat } = await desk.start({ chat: () => ({ text: marked('Yes') }) })
      const first = await thread.waitUntilIdle()
      await thread.send(marked('And now?'))
      const second = await thread.waitUntilIdle()
      expect([first.runId, second.runId]).toEqual(['run_1', 'run_2'])
      expect(chat.requests).toHaveLength(2)
    })

    test('SA-R-13.5 SA-R-09.4 queued messages are delivered first in, first out', async () => {
      const gate = createGate()
      const { thread, chat } = await desk.start({
        chat: [{ toolCalls: [work] }, { text: marked('All') }],
        tools: { work: async () => (await gate.passed, { status: 'success', result: marked('ok') }) },
      })
      await until('a running tool', async () => (await factTypes(thread)).includes('tool.started'))
      for (const text of numbered(6)) await thread.send(text)
      gate.open()
      await thread.waitUntilIdle()
      expect(chat.requests[1]?.messages.slice(-6).map(({ text }) => text)).toEqual(numbered(6))
    })

    test('AR-CC.2 PL-CX.3 a message of one id is delivered once, whenever it is sent', async () => {
      const { thread, chat } = await desk.start({ chat: () => ({ text: marked('Yes') }), message: null })
      const message = { content: marked('Only once'), id: `${thread.threadId}-mail` }
      await Promise.all([thread.send(message), thread.send(message)])
      await thread.waitUntilIdle()
      await desk.env.restartWorker()
      await thread.send(message)
      await thread.waitUntilIdle()
      const copies = (await transcript(thread)).filter(({ content }) => content === marked('Only once'))
      expect(copies.map(({ id }) => id)).toEqual([message.id])
      expect((await thread.workflow.describe()).workflowId).toBe(thread.threadId)
      expect((await thread.snapshot()).lastRun?.runId).toBe('run_1')
      expect(chat.requests.length).toBe(1)
    })

    test('SA-R-13.5 SA-R-09.5 AR-CC.6 a queue survives each restart of the worker', async () => {
      const gate = createGate()
      const { thread, chat } = await desk.start({
        chat: (request) =>
          request.messages.length === 1
            ? gate.passed.then(() => ({ text: marked('Read') }))
            : { text: marked('Read') },
      })
      await until('a request', () => chat.requests.length === 1)
      for (const text of numbered(3)) await thread.send(text)
      await desk.env.restartWorker()
      await until('three waiting', async () => (await thread.snapshot()).queue.length >= 3)
      await desk.env.restartWorker()
      gate.open()
      await thread.waitUntilIdle({ timeout: '100 s' })
      const contents = (await transcript(thread))
        .filter(({ role }) => role === 'user')
        .map(({ content }) => content)
      expect(contents).toEqual([marked('Hello'), ...numbered(3)])
    })
  },
  { restarts: true },
)
