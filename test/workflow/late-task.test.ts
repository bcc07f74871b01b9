import type { ActivityInterceptorsFactory } from '@temporalio/worker'
import { expect, inject, test } from 'vitest'

import { createGate } from '../support/gate.js'
import type { Gate } from '../support/gate.js'
import { marked } from '../support/marker.js'
import { testEnvironment } from '../support/test-store.js'
import { toolResults } from '../support/thread-facts.js'
import { createThreadScripts } from '../support/thread-scripts.js'
import { startTimeSkippingServer } from '../support/time-skipping-server.js'
import { until } from '../support/until.js'
import { workflowDesk } from '../support/workflow-desk.js'

interface Arrivals {
  /** What the first attempt came to, once it was let in. */
  readonly late: string[]
  readonly gate: Gate
}

/** The first task of that activity arrives when the gate is open: Temporal has given it up by then. */
function arrivingLate(activityType: string, { late, gate }: Arrivals): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      async execute(input, next) {
        if (info.activityType !== activityType || info.attempt > 1) return next(input)
        await gate.passed
        return next(input).then(
          (answer) => (late.push('answered'), answer),
          (error: unknown) => {
            late.push(String(error))
            throw error
          },
        )
      },
    },
  })
}

test('T4 a task of a tool call that arrives after its successor began takes nothing from it', async () => {
  const server = await startTimeSkippingServer()
  const { models, tools, script } = createThreadScripts()
  const [late, gate, running] = [[] as string[], createGate(), createGate()]
  const worker = {
    workflowBundle: { codePath: inject('workflowBundlePath') },
    interceptors: { activity: [arrivingLate('thread.executeTool', { late, gate })] },
  }
  const env = await testEnvironment({
    ...{ server: server.environment, registry: workflowDesk, models, tools, worker },
  })
  try {
    let worked = 0
    const work = async () => {
      worked += 1
      await running.passed
      return { status: 'success', result: marked('worked') } as const
    }
    const call = { name: 'work', args: { task: marked('Work') } }
    const chat = [{ toolCalls: [call] }, { text: marked('Done') }]
    script('late-task', { chat, tools: { work } })
    const thread = await env.threads.create({
      ...{ agent: 'clerk', id: 'late-task', message: marked('Hello') },
      // Temporal gives the first attempt up then: nobody beats for it.
      limits: { heartbeatTimeout: 2_000 },
    })
    await until('the tool', () => worked === 1)
    gate.open()
    await until('the late task', () => late.length > 0)
    running.open()
    const { reply } = await thread.waitUntilIdle()
    expect(reply?.content).toBe(marked('Done'))
    expect(await toolResults(thread)).toMatchObject([{ content: marked('worked') }])
    expect(worked).toBe(1)
    expect(late).toEqual([expect.stringContaining('A later attempt holds this operation')])
  } finally {
    await env.close()
    await server.stop()
  }
})
