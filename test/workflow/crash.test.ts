import { expect, test } from 'vitest'

import { createGate } from '../support/gate.js'
import { marked } from '../support/marker.js'
import { factsOf, toolResults, transcript } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import { until } from '../support/until.js'

const call = (name: string) => ({ name, args: { task: marked(name) } })

threeRuns(
  (desk) => {
    test('K-9 SA-R-13.3 SA-R-01.2 a finished tool is not run again after a restart', async () => {
      const gate = createGate()
      let worked = 0
      const { thread, chat } = await desk.start({
        chat: [
          { toolCalls: [call('work')] },
          () => gate.passed.then(() => ({ text: marked('Cut') })),
          { text: marked('Done') },
        ],
        tools: { work: () => ({ status: 'success', result: marked(`run ${(worked += 1)}`) }) },
      })
      await until('the second request', () => chat.requests.length === 2)
      // The run is not over, and what it did so far is in the store.
      expect(await transcript(thread)).toMatchObject([
        { role: 'user', content: marked('Hello') },
        { role: 'assistant', tool_calls: expect.stringContaining('work') },
        { role: 'tool', content: marked('run 1') },
      ])
      await desk.env.restartWorker()
      gate.open()
      await thread.waitUntilIdle({ timeout: '100 s' })
      expect(worked).toBe(1)
      expect(await toolResults(thread)).toMatchObject([{ content: marked('run 1'), tool_status: 'success' }])
      expect(chat.requests.at(-1)?.messages.at(-1)?.toolResults).toMatchObject([{ text: marked('run 1') }])
    })

    test('AR-ID.1 events before and after a restart have the id of one runtime', async () => {
      const { thread, chat } = await desk.start({
        chat: [{ text: marked('Before') }, { text: marked('After') }],
      })
      await thread.waitUntilIdle()
      const before = await factsOf(thread)
      await desk.env.restartWorker()
      await thread.send(marked('Again'))
      await thread.waitUntilIdle({ timeout: '100 s' })
      const facts = await factsOf(thread)
      expect(facts.length).toBeGreaterThan(before.length)
      expect(new Set(facts.map(({ runtimeId }) => runtimeId))).toEqual(new Set([desk.env.store.id]))
      expect(chat.requests).toHaveLength(2)
    })

    test('K-9 a tool cut by a restart is reported as unknown', async () => {
      const gate = createGate()
      let worked = 0
      const { thread, chat } = await desk.start({
        chat: [{ toolCalls: [call('work'), call('other')] }, { text: marked('Done') }],
        tools: {
          work: async () => {
            worked += 1
            await gate.passed
            return { status: 'success', result: marked('too late') }
          },
        },
      })
      await until('a running tool', () => worked === 1)
      await desk.env.restartWorker()
      gate.open()
      await thread.waitUntilIdle({ timeout: '100 s' })
      expect(worked).toBe(1)
      const [cut, other] = await toolResults(thread)
      expect(cut).toMatchObject({ name: 'work', tool_status: 'error' })
      expect(cut?.content).not.toContain('too late')
      expect(other).toMatchObject({ name: 'other', tool_status: 'success' })
      expect(chat.requests).toHaveLength(2)
    })

    test('K-28 KP-03.7 a call that waits for its client outlives its worker', async () => {
      const { thread, chat } = await desk.start({
        chat: [{ toolCalls: [call('work')] }, { text: marked('Thank you') }],
        tools: { work: () => ({ status: 'pending' }) },
      })
      expect((await thread.waitUntilIdle()).status).toBe('waiting_input')
      await desk.env.restartWorker()
      const { status, pending } = await thread.snapshot()
      expect(status).toBe('waiting_input')
      expect(pending).toMatchObject([{ kind: 'call' }])
      const answer = { result: { status: 'success', result: marked('Here') } } as const
      await thread.respond(pending[0]?.id ?? '', answer)
      expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Thank you'))
      expect(await toolResults(thread)).toMatchObject([{ name: 'work', content: marked('Here') }])
      expect(chat.requests).toHaveLength(2)
    })
  },
  { restarts: true },
)
