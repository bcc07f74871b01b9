import { expect, test } from 'vitest'

import { marked } from '../support/marker.js'
import { toolResults } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'

const work = { name: 'work', args: { task: marked('it') } }

threeRuns(
  (desk) => {
    test.each([
      ['clerk', 10],
      ['brief', 3],
    ] as const)(
      'KP-01.2 an endless script of tool calls of %s ends after the %i iterations that are set',
      async (agent, most) => {
        const { thread, chat } = await desk.start({ agent, chat: () => ({ toolCalls: [work] }) })
        expect(await thread.waitUntilIdle()).toMatchObject({
          ...{ reason: 'max_steps', steps: most, status: 'idle' },
        })
        expect(chat.requests).toHaveLength(most)
        expect(await toolResults(thread)).toHaveLength(most)
      },
    )

    test('the next message has as many iterations again, and an answer within them ends the run as ever', async () => {
      const chat = [work, work, work].map((call) => ({ toolCalls: [call] }))
      const { thread } = await desk.start({
        agent: 'brief',
        chat: [...chat, ...chat.slice(1), { text: marked('Done') }],
      })
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'max_steps', steps: 3 })
      await thread.send(marked('Go on'))
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response', steps: 3 })
    })
  },
  { limits: { toolIterations: 10 } },
)
