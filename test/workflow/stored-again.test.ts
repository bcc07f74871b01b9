import type { ActivityInterceptorsFactory } from '@temporalio/worker'
import { expect, inject, test } from 'vitest'

import { failure } from '../../src/protocol/failures.js'
import { findRun } from '../../src/store/runs.js'
import { marked } from '../support/marker.js'
import { testEnvironment } from '../support/test-store.js'
import { createThreadScripts } from '../support/thread-scripts.js'
import { startTimeSkippingServer } from '../support/time-skipping-server.js'
import { until } from '../support/until.js'
import { workflowDesk } from '../support/workflow-desk.js'

/** The first settle fails for good, as after a day without a store. */
function failingOnce(failed: string[]): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      execute(input, next) {
        if (info.activityType !== 'thread.settle' || failed.length > 0) return next(input)
        failed.push(info.activityType)
        throw failure('Operation.Lost')
      },
    },
  })
}

test('T8 the end of a run is asked for until it is stored', async () => {
  const server = await startTimeSkippingServer()
  const { models, tools, script } = createThreadScripts()
  const failed: string[] = []
  const worker = {
    workflowBundle: { codePath: inject('workflowBundlePath') },
    interceptors: { activity: [failingOnce(failed)] },
  }
  const env = await testEnvironment({
    ...{ server: server.environment, registry: workflowDesk, models, tools, worker },
  })
  try {
    const { chat } = script('stored-again', { chat: () => ({ text: marked('Hi') }) })
    const message = marked('Hello')
    const thread = await env.threads.create({ agent: 'clerk', id: 'stored-again', message })
    await until('the failure', () => failed.length === 1)
    await thread.send(marked('And now?'))
    const ended = async () =>
      (await env.store.read((db) => findRun(db, { threadId: 'stored-again', number: 1 })))?.ended_at
    expect(await ended()).toBeNull()
    await env.sleep('61 minutes')
    await thread.waitUntilIdle()
    expect(await ended()).toEqual(expect.any(Number))
    expect(chat.requests).toHaveLength(2)
  } finally {
    await env.close()
    await server.stop()
  }
})
