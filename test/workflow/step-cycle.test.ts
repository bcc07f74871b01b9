import { randomUUID } from 'node:crypto'

import { expect, test } from 'vitest'

import { assertEvents } from '../../src/testing/index.js'
import { createGate } from '../support/gate.js'
import { activityNames } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { factsOf, factTypes, toolResults, transcript } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import { until } from '../support/until.js'
import { held } from '../support/workflow-desk.js'

const work = { name: 'work', args: { task: marked('count') } }

threeRuns(
  (desk) => {
    test('SA-R-02.1 a message to an idle thread starts one step', async () => {
      const { thread, chat } = await desk.start({ chat: [{ text: marked('Hi') }], message: null })
      expect(chat.requests).toHaveLength(0)
      await thread.send(marked('Hello'))
      const run = await thread.waitUntilIdle()
      expect(run).toMatchObject({ status: 'idle', reason: 'stop_on_response', steps: 1 })
      expect(run.reply?.content).toBe(marked('Hi'))
      expect(chat.requests).toHaveLength(1)
      expect(chat.requests[0]?.messages).toMatchObject([{ role: 'user', text: marked('Hello') }])
    })

    test('SA-R-02.6 a message takes an idle thread through running to idle', async () => {
      const gate = createGate()
      const { thread } = await desk.start({
        message: null,
        chat: [async () => (await gate.passed, { text: marked('Hi') })],
      })
      expect((await thread.waitUntilIdle()).status).toBe('idle')
      await thread.send(marked('Hello'))
      await until('a running thread', async () => (await thread.snapshot()).status === 'running')
      gate.open()
      expect((await thread.waitUntilIdle()).status).toBe('idle')
    })

    test('SA-R-03.0 SA-R-03.5 AR-ID.7 all seven phases are marked in order in each step', async () => {
      const { thread } = await desk.start({ chat: [{ toolCalls: [work, work] }, { text: marked('Done') }] })
      await thread.waitUntilIdle()
      const phases = (await factsOf(thread)).flatMap((fact) =>
        fact.type === 'step.phase' ? [[fact.stepId, fact.payload.phase]] : [],
      )
      const seven = [1, 2, 3, 4, 5, 6, 7]
      expect(phases).toEqual([
        ...seven.map((phase) => ['step_1_1', phase]),
        ...seven.map((phase) => ['step_1_2', phase]),
      ])
    })

    test('SA-R-03.0 a tool that the last call queues ends phase 6', async () => {
      const { thread } = await desk.start({
        chat: [{ toolCalls: [work] }, { text: marked('Done') }],
        tools: {
          work: (state) => {
            state.queueTool('other', { task: marked('queued') })
            return { status: 'success', result: marked('ok') }
          },
        },
      })
      await thread.waitUntilIdle()
      const first = (await factsOf(thread)).filter(({ stepId }) => stepId === 'step_1_1')
      const order = first.flatMap((fact): readonly unknown[] => {
        if (fact.type === 'step.phase') return [fact.payload.phase]
        return fact.type === 'tool.result' ? [fact.payload.name] : []
      })
      expect(order).toEqual([1, 2, 3, 4, 5, 'work', 6, 'other', 7])
    })

    test('SA-R-03.1 a drained message is in the request and off the queue', async () => {
      const gate = createGate()
      const { thread, chat } = await desk.start({
        chat: [{ toolCalls: [work] }, async () => (await gate.passed, { text: marked('Both') })],
        tools: {
          work: async () => (
            await thread.send(marked('And this')),
            { status: 'success', result: marked('ok') }
          ),
        },
      })
      await until('the second request', () => chat.requests.length === 2)
      expect(chat.requests[1]?.messages.at(-1)).toMatchObject({ role: 'user', text: marked('And this') })
      const [queued] = (await transcript(thread)).filter(({ content }) => content === marked('And this'))
      expect(queued?.position).not.toBeNull()
      expect((await thread.snapshot()).queue).toEqual([])
      gate.open()
      await thread.waitUntilIdle()
    })

    test('SA-R-03.2 SA-R-03.3 a request holds the system text, history and tools of the active prompt', async () => {
      const { thread, chat, review } = await desk.start({
        agent: 'auditor',
        review: [{ text: marked('Fine') }],
      })
      await thread.waitUntilIdle()
      expect(chat.requests).toHaveLength(0)
      expect(review.requests).toMatchObject([
        { prompt: 'auditor', system: 'You are the auditor.', tools: [] },
      ])
      const clerk = await desk.start({ chat: [{ text: marked('Fine') }] })
      await clerk.thread.waitUntilIdle()
      expect(clerk.review.requests).toHaveLength(0)
      expect(clerk.chat.requests[0]).toMatchObject({
        prompt: 'clerk',
        side: 'a',
        system: 'You are the clerk.',
      })
      expect(clerk.chat.requests[0]?.tools.map(({ name }) => name)).toContain('close_case')
    })

    test('SA-R-03.4 the answer is stored before its tools run', async () => {
      const gate = createGate()
      const { thread } = await desk.start({
        chat: [{ text: marked('I look'), toolCalls: [work] }, { text: marked('Done') }],
        tools: { work: async () => (await gate.passed, { status: 'success', result: marked('ok') }) },
      })
      await until('a running tool', async () => (await factTypes(thread)).includes('tool.started'))
      const [, answer, ...rest] = await transcript(thread)
      expect(answer).toMatchObject({ role: 'assistant', content: marked('I look') })
      expect(JSON.parse(answer?.tool_calls ?? '[]')).toMatchObject([{ function: { name: 'work' } }])
      expect(rest).toEqual([])
      gate.open()
      await thread.waitUntilIdle()
    })

    desk.ofActivities(
      'SA-R-03.6 AR-TC.3 each result is stored before the next tool is scheduled',
      async () => {
        const [storing, gate] = [createGate(), createGate()]
        const threadId = `filer-${randomUUID()}`
        held.set(threadId, storing.passed)
        let worked = false
        desk.script(threadId, {
          chat: [
            { toolCalls: [work, { name: 'other', args: { task: marked('sum') } }] },
            { text: marked('Done') },
          ],
          tools: {
            work: () => ((worked = true), { status: 'success', result: marked('first') }),
            other: async () => (await gate.passed, { status: 'success', result: marked('second') }),
          },
        })
        const message = marked('Hello')
        const thread = await desk.env.threads.create({ agent: 'filer', id: threadId, message })
        await until('the first result', () => worked)
        // The tool is done, and its result is not stored: nothing follows, although the server answers.
        expect((await thread.snapshot()).run?.doing).toContain('work')
        expect(await toolResults(thread)).toEqual([])
        expect(await toolsScheduled(threadId)).toBe(1)
        storing.open()
        await until('the second tool', async () => (await toolsScheduled(threadId)) === 2)
        expect((await toolResults(thread)).map(({ content }) => content)).toEqual([marked('first')])
        gate.open()
        await thread.waitUntilIdle()
        // Results are rows of their own: the text of the model has none of them.
        expect((await transcript(thread)).map(({ role, content }) => [role, content])).toEqual([
          ['user', message],
          ['assistant', null],
          ['tool', marked('first')],
          ['tool', marked('second')],
          ['assistant', marked('Done')],
        ])
      },
    )

    test('SA-R-03.7 stop conditions are judged after all results are stored', async () => {
      const { thread, chat } = await desk.start({
        agent: 'closer',
        chat: [{ toolCalls: [{ name: 'close_case', args: { summary: marked('All well') } }, work] }],
      })
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'session_stop', steps: 1 })
      expect((await toolResults(thread)).map(({ name }) => name)).toEqual(['close_case', 'work'])
      expect(chat.requests).toHaveLength(1)
    })

    desk.ofActivities('SA-R-05.3a KP-03.0 AR-TC.0 a function tool runs as an activity', async () => {
      const { thread, chat } = await desk.start({ chat: [{ toolCalls: [work] }, { text: marked('Done') }] })
      await thread.waitUntilIdle()
      expect(activityNames(await desk.runs(thread.threadId))).toEqual([
        'thread.callModel',
        'thread.executeTool',
        'thread.callModel',
      ])
      expect(chat.requests[1]?.messages.at(-1)?.toolResults).toMatchObject([
        { name: 'work', text: marked('work done') },
      ])
    })

    test('SA-R-12.1 SA-R-12.2 AR-ID.8 AR-ID.13 AR-EC.12 each model call and tool call leaves a pair of events', async () => {
      let calls = 0
      const { thread, chat } = await desk.start({
        chat: [{ toolCalls: [work, work] }, { text: marked('Done') }],
        tools: {
          work: () =>
            (calls += 1) === 1
              ? { status: 'success', result: marked('ok') }
              : { status: 'error', error: marked('failed') },
        },
      })
      await thread.waitUntilIdle()
      // A call has one id in its events and its result, whether it succeeds or fails; what happens in a run has other ids.
      const facts = await factsOf(thread)
      const callIds = (type: string) =>
        facts.filter((fact) => fact.type === type).map(({ toolCallId }) => toolCallId)
      expect(callIds('tool.result')).toEqual(callIds('tool.started'))
      expect((await toolResults(thread)).map(({ tool_call_id }) => tool_call_id)).toEqual(
        callIds('tool.result'),
      )
      expect(new Set(callIds('tool.result')).size).toBe(2)
      const scopes = ['runId', 'stepId', 'messageId', 'toolCallId'] as const
      const ids = scopes.map((scope) => new Set(facts.flatMap((fact) => fact[scope] ?? [])))
      expect(ids.map(({ size }) => size)).toEqual([1, 2, 5, 2])
      expect(new Set(ids.flatMap((values) => [...values])).size).toBe(10)
      const count = async (type: string): Promise<number> =>
        (await factTypes(thread)).filter((candidate) => candidate === type).length
      for (const type of ['context.resolved', 'model.requested', 'model.completed'])
        expect(await count(type)).toBe(chat.requests.length)
      for (const type of ['tool.started', 'tool.result']) expect(await count(type)).toBe(2)
      await assertEvents(thread, [
        ...[
          'thread.started',
          'run.started',
          'side.started',
          'step.started',
          'model.requested',
          'model.completed',
        ],
        ...['tool.started', 'tool.result', 'tool.started', 'tool.result', 'step.completed', 'step.started'],
        ...['model.requested', 'model.completed', 'step.completed', 'side.completed', 'run.completed'],
      ])
      await desk.env.restartWorker()
      expect(await count('model.completed')).toBe(2)
    })

    test('KP-01.1 AR-ES.3 calls and requests take turns until a text, and event sequences have no gaps', async () => {
      const { thread, chat } = await desk.start({
        chat: [{ toolCalls: [work] }, { toolCalls: [work] }, { text: marked('Done') }],
      })
      expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Done'))
      expect(chat.requests).toHaveLength(3)
      const sequences = (await factsOf(thread)).map(({ sequence }) => sequence)
      expect(sequences).toEqual(sequences.map((_, index) => index + 1))
    })

    test('AR-EN.2 AR-EE.4 a result of 1 MB is a file, and its events hold a beginning', async () => {
      const long = `${'x'.repeat(1_000_000)}${marked('end')}`
      const { thread } = await desk.start({
        chat: [{ toolCalls: [work] }, { text: marked('Done') }],
        tools: { work: () => ({ status: 'success', result: long }) },
      })
      await thread.waitUntilIdle()
      for (const fact of await factsOf(thread)) expect(JSON.stringify(fact).length).toBeLessThan(20_000)
      const [result] = await toolResults(thread)
      const [path] = /\/results\/[^\s"]+/.exec(result?.content ?? '') ?? []
      const bytes = await thread.readFile(path ?? '')
      expect(bytes && Buffer.from(bytes).toString()).toBe(long)
    })

    test('AR-EC.6 a model call leaves events of its request, failure, text and end', async () => {
      const { thread } = await desk.start({
        message: null,
        chat: [
          { error: { status: 503, message: marked('No') } },
          // Of seconds: text that is stored before it was read is not among the events.
          { text: marked('Hi there, I am back. '.repeat(6)), wordDelay: 100 },
        ],
      })
      const types = new Set<string>()
      const following = (async () => {
        for await (const { type } of thread.events()) {
          if (type.startsWith('model.')) types.add(type)
          if (type === 'run.completed') break
        }
      })()
      await thread.send(marked('Hello'))
      await following
      expect([...types]).toEqual(['model.requested', 'model.failed', 'model.delta', 'model.completed'])
    })

    async function toolsScheduled(threadId: string): Promise<number> {
      const names = activityNames(await desk.runs(threadId))
      return names.filter((name) => name === 'thread.executeTool').length
    }
  },
  { restarts: true },
)
