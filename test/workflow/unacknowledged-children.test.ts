import type { ActivityInterceptorsFactory } from '@temporalio/worker'
import { expect, inject, test } from 'vitest'
import { failure } from '../../src/protocol/failures.js'
import { listChildren } from '../../src/store/threads/children.js'
import { findThread } from '../../src/store/threads/threads.js'
import { familyDesk } from '../support/family-desk.js'
import { startFamily } from '../support/family-runs.js'
import { createFamilyScripts } from '../support/family-scripts.js'
import { createGate } from '../support/gate.js'
import type { Gate } from '../support/gate.js'
import { marked } from '../support/marker.js'
import { testEnvironment } from '../support/test-store.js'
import { toolResults } from '../support/thread-facts.js'
import { startTimeSkippingServer } from '../support/time-skipping-server.js'
import { until } from '../support/until.js'

/** The first answer of that activity is lost behind its commit, when the gate is open, as with its worker. */
function losingFirst(activityType: string, lost: string[], gate: Gate): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      async execute(input, next) {
        const answer = await next(input)
        if (info.activityType !== activityType || lost.length > 0) return answer
        lost.push(activityType)
        await gate.passed
        throw failure('Worker.Shutdown')
      },
    },
  })
}

test('T7 T8 a terminated thread leaves no subagent that it never heard of', async () => {
  const server = await startTimeSkippingServer()
  const scripts = createFamilyScripts()
  const [lost, gate] = [[] as string[], createGate()]
  const worker = {
    workflowBundle: { codePath: inject('workflowBundlePath') },
    interceptors: { activity: [losingFirst('thread.prepareChild', lost, gate)] },
  }
  const { models, tools } = scripts
  const env = await testEnvironment({
    ...{ server: server.environment, registry: familyDesk, models, tools, worker },
  })
  try {
    const order = { toolCalls: [{ name: 'pair', args: { task: marked('Write') } }] }
    const { thread } = await startFamily(env, scripts, { voices: { planner: [order] } })
    await until('the lost answer', () => lost.length === 1)
    await thread.terminate()
    gate.open()
    await until('the close', async () => (await thread.workflow.describe()).status.name !== 'RUNNING')
    const [child, ...others] = await env.store.read((db) => listChildren(db, thread.threadId))
    expect(others).toEqual([])
    expect(child).toMatchObject({ status: 'terminated', closed_at: expect.any(Number) })
    const row = await env.store.read((db) => findThread(db, child?.reference ?? ''))
    expect(row).toMatchObject({ closed_at: expect.any(Number), status: 'terminated' })
    expect(await toolResults(thread)).toMatchObject([{ name: 'pair', tool_status: 'error' }])
  } finally {
    await env.close()
    await server.stop()
  }
})
