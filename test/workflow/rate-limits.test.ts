import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import { marked } from '../support/marker.js'
import { factsOf, factTypes, toolResults, transcript } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import type { Desk, NewScenario } from '../support/three-runs.js'
import { until } from '../support/until.js'

const work = (...tasks: readonly string[]) => ({
  toolCalls: tasks.map((task) => ({ name: 'work', args: { task: marked(task) } })),
})
const answer = { text: marked('Done') }

/** Starts a thread of an account. */
async function begin(desk: Desk, account: string, { agent = 'clerk', ...script }: NewScenario) {
  const id = `${agent}-${randomUUID()}`
  const voices = desk.script(id, script)
  const thread = await desk.env.threads.create({ agent, id, account, message: marked('Hello') })
  return { ...voices, thread }
}

const waits = (thread: ThreadHandle) =>
  until('the wait', async () => (await thread.snapshot()).status === 'waiting_resource')

const limitFacts = async (thread: ThreadHandle) =>
  (await factsOf(thread)).filter(({ type }) => type === 'limit.changed')

threeRuns(
  (desk) => {
    // The first test of the file: a query or signal that meets the end of a run may lock the time of the test server.
    desk.skippingTime('AR-EC.17 a run above the tool calls of its account waits, and goes on', async () => {
      const account = randomUUID()
      const called: string[] = []
      const tools = {
        work: async (_state: unknown, { task }: Record<string, unknown>) => {
          called.push(String(task))
          return { status: 'success', result: marked(`${String(task)} done`) } as const
        },
      }
      const { thread, chat } = await begin(desk, account, { chat: [work('a', 'b', 'c'), answer], tools })
      await until('the limit', async () => (await limitFacts(thread)).length > 0)
      expect(called).toHaveLength(2)
      expect(await thread.snapshot()).toMatchObject({ status: 'waiting_resource', stale: false })
      const [fact] = await limitFacts(thread)
      expect(fact).toMatchObject({ payload: { limit: 'toolCallsPerMinute', state: 'exhausted' } })
      // Another account has its own.
      const other = await begin(desk, randomUUID(), { chat: [work('d'), answer], tools })
      expect(await other.thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response' })
      expect(called).toHaveLength(3)
      await desk.env.sleep('2 minutes')
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response' })
      expect([called.length, chat.requests.length]).toEqual([4, 2])
      expect((await toolResults(thread)).map(({ tool_status: status }) => status)).toEqual(
        Array.from({ length: 3 }, () => 'success'),
      )
      expect(await factTypes(thread)).not.toContain('model.failed')
    })

    test('AR-SN.11 a stop ends the wait for a limit, which the summary names, and the call is not made', async () => {
      let called = 0
      const tools = {
        work: async () => {
          called += 1
          return { status: 'success', result: marked('done') } as const
        },
      }
      const { thread } = await begin(desk, randomUUID(), { chat: [work('a', 'b', 'c'), answer], tools })
      await waits(thread)
      expect((await thread.routing()).waitsFor).toEqual({
        limit: 'toolCallsPerMinute',
        until: expect.any(Number),
      })
      await thread.stop()
      expect(await thread.waitUntilIdle()).toMatchObject({ status: 'stopped', reason: 'stopped' })
      expect((await thread.routing()).waitsFor).toBe(null)
      expect(called).toBe(2)
      expect((await toolResults(thread)).length).toBe(3)
    })
  },
  { rateLimits: { toolCallsPerMinute: 2 } },
)

threeRuns(
  (desk) => {
    desk.skippingTime('a run above the tokens of its account waits before its next request', async () => {
      const account = randomUUID()
      const first = await begin(desk, account, { chat: [{ ...answer, usage: USED }] })
      expect(await first.thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response' })
      const { thread, chat } = await begin(desk, account, { chat: [answer, answer] })
      await waits(thread)
      expect(chat.requests).toHaveLength(0)
      expect(await limitFacts(thread)).toMatchObject([{ payload: { limit: 'tokensPerMinute' } }])
      await thread.send(marked('And?'))
      await desk.env.sleep('2 minutes')
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response' })
      expect((await transcript(thread)).map(({ content }) => content)).toEqual(
        ['Hello', 'Done', 'And?', 'Done'].map(marked),
      )
      expect(await factTypes(thread)).not.toContain('model.failed')
    })

    test('a stop ends the wait before a request', async () => {
      const account = randomUUID()
      const first = await begin(desk, account, { chat: [{ ...answer, usage: USED }] })
      await first.thread.waitUntilIdle()
      const { thread, chat } = await begin(desk, account, { chat: [answer] })
      await waits(thread)
      await thread.stop()
      expect(await thread.waitUntilIdle()).toMatchObject({ status: 'stopped', reason: 'stopped' })
      expect(chat.requests).toHaveLength(0)
    })
  },
  { rateLimits: { tokensPerMinute: 100 } },
)

const USED = { inputTokens: 150, outputTokens: 50 }
