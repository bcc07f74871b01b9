import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { histories, historyCost } from '../../bench/step/history-cost.js'
import type { ThreadHandle } from '../../src/client/index.js'
import { startLoopingThreads } from '../support/looping-thread.js'
import type { LoopingThreads } from '../support/looping-thread.js'
import { toolResults } from '../support/thread-facts.js'

/** Results above 64 KB would be shown to the model in part. */
const RESULT = 50_000
const CONVERSATIONS = { '4 KB': [1, 4_000], '0.42 MB': [9, RESULT], '0.81 MB': [17, RESULT] } as const

let threads: LoopingThreads

beforeAll(async () => {
  threads = await startLoopingThreads(inject('devServerAddress'))
})
afterAll(() => threads.close())

test('T6 a step costs the same history at every size', async () => {
  const costs = []
  for (const conversation of Object.values(CONVERSATIONS)) {
    const thread = await threadWith(conversation)
    await threads.turn(thread, { calls: 12, resultLength: 10 })
    costs.push(await historyCost(threads.client, thread.threadId, 13))
  }
  for (const { events, bytes } of costs) {
    expect(events).toBe(12)
    // Event numbers of more digits take a few bytes more.
    expect(bytes / costs[0]!.bytes).toBeCloseTo(1, 1)
    expect(bytes).toBeLessThan(4_096)
  }
})

test('100 calls of 5 KB on 0.81 MB finish in one turn', { timeout: 180_000 }, async () => {
  const thread = await threadWith(CONVERSATIONS['0.81 MB'])
  const result = await threads.turn(thread, { calls: 100, resultLength: 5_000 })
  expect(result).toMatchObject({ status: 'idle', reason: 'stop_on_response', steps: 101 })
  expect(await toolResults(thread)).toHaveLength(117)
  expect(await historyBytes(thread)).toBeLessThan(500_000)
})

async function threadWith([calls, resultLength]: readonly [number, number]): Promise<ThreadHandle> {
  const thread = await threads.create()
  await threads.turn(thread, { calls, resultLength })
  return thread
}

/** Of all Temporal runs of the thread, by the server's count at the last workflow task of each. */
async function historyBytes({ threadId }: ThreadHandle): Promise<number> {
  let bytes = 0
  for await (const events of histories(threads.client, threadId)) {
    const tasks = events.map((event) =>
      Number(event.workflowTaskStartedEventAttributes?.historySizeBytes ?? 0),
    )
    bytes += Math.max(...tasks)
  }
  return bytes
}
