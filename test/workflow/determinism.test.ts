import { expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import { marked } from '../support/marker.js'
import { factsOf } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'

threeRuns((desk) => {
  test('SA-R-01.0 the same script twice gives the same events', async () => {
    const logs = await Promise.all([talk(), talk()])
    expect(logs[0]).toEqual(logs[1])
    expect(logs[0]?.length).toBeGreaterThan(20)
  })

  async function talk(): Promise<readonly unknown[]> {
    const { thread } = await desk.start({
      chat: [
        {
          toolCalls: [
            { name: 'work', args: { task: marked('a') } },
            { name: 'nothing', args: {} },
          ],
        },
        { text: marked('Done') },
        { text: marked('Again') },
      ],
    })
    await thread.waitUntilIdle()
    await thread.send(marked('Once more'))
    await thread.waitUntilIdle()
    return comparable(thread)
  }

  /** Without what differs by nature: ids of thread and messages, times. */
  async function comparable(thread: ThreadHandle): Promise<readonly unknown[]> {
    return (await factsOf(thread)).map(({ type, sequence, payload, runId, stepId, toolCallId }) => {
      const text = JSON.stringify(payload, (key, value: unknown) =>
        ['id', 'created_at', 'milliseconds', 'parent_id', 'taken'].includes(key) ? undefined : value,
      )
      return {
        type,
        sequence,
        runId,
        stepId,
        toolCallId,
        payload: text.replaceAll(thread.threadId, 'thread'),
      }
    })
  }
})
