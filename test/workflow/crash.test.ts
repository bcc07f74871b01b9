import { expect, test } from 'vitest'

import { createGate } from '../support/gate.js'
import { marked } from '../support/marker.js'
import { toolResults, transcript } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import { until } from '../support/until.js'

const call = (name: string) => ({ name, args: { task: marked(name) } })

threeRuns(
  (desk) => {
    test('SA-R-01.2 a finished tool is not run again after a restart', async () => {
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
      await desk.env.restartWorker()
      gate.open()
      await thread.waitUntilIdle({ timeout: '20 s' })
      expect(worked).toBe(1)
      expect(await toolResults(thread)).toMatchObject([{ content: marked('run 1'), tool_status: 'success' }])
      expect(chat.requests.at(-1)?.messages.at(-1)?.toolResults).toMatchObject([{ text: marked('run 1') }])
    })

    test('a tool cut by a restart is reported as unknown', async () => {
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
      await thread.waitUntilIdle({ timeout: '20 s' })
      expect(worked).toBe(1)
      const [cut, other] = await toolResults(thread)
      expect(cut).toMatchObject({ name: 'work', tool_status: 'error' })
      expect(cut?.content).not.toContain('too late')
      expect(other).toMatchObject({ name: 'other', tool_status: 'success' })
      expect(chat.requests).toHaveLength(2)
    })

    test('SA-R-01.2 messages and results are in the store while no worker runs', async () => {
      const { thread } = await desk.start({ chat: [{ toolCalls: [call('work')] }, { text: marked('Done') }] })
      await thread.waitUntilIdle()
      await desk.env.restartWorker()
      expect((await transcript(thread)).map(({ role }) => role)).toEqual([
        'user',
        'assistant',
        'tool',
        'assistant',
      ])
    })
  },
  { restarts: true },
)
