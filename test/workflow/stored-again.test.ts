import { ApplicationFailure } from '@temporalio/common'
import type { ActivityInterceptorsFactory, WorkerOptions, WorkerPlugin } from '@temporalio/worker'
import { expect, inject, test } from 'vitest'
import { failure } from '../../src/protocol/failures.js'
import { findRun } from '../../src/store/threads/runs.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { createGate } from '../support/gate.js'
import type { Gate } from '../support/gate.js'
import { activityNames, recordedRuns } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { testEnvironment } from '../support/test-store.js'
import { createThreadScripts } from '../support/thread-scripts.js'
import { startTimeSkippingServer } from '../support/time-skipping-server.js'
import { until } from '../support/until.js'
import { workflowDesk } from '../support/workflow-desk.js'

/** The first settle fails for good, as after a day without a store: when the gate is open. */
function failingOnce(failed: string[], gate: Gate): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      async execute(input, next) {
        if (info.activityType !== 'thread.settle' || failed.length > 0) return next(input)
        failed.push(info.activityType)
        await gate.passed
        throw failure('Operation.Lost')
      },
    },
  })
}

/** Outside of our guard: the first activity fails for good, as after a day in which workers of other stores refused it. */
function refusingForADay(refused: string[]): WorkerPlugin {
  const refusing: ActivityInterceptorsFactory = ({ info }) => ({
    inbound: {
      async execute(input, next) {
        if (refused.length > 0) return next(input)
        refused.push(info.activityType)
        throw ApplicationFailure.create({ type: 'Thread.OtherStore', nonRetryable: true, category: 'BENIGN' })
      },
    },
  })
  const configureWorker = (options: WorkerOptions): WorkerOptions => {
    const { activity = [], ...interceptors } = options.interceptors ?? {}
    return { ...options, interceptors: { ...interceptors, activity: [refusing, ...activity] } }
  }
  return { name: 'refusing', configureWorker }
}

function openGate(): Gate {
  const gate = createGate()
  gate.open()
  return gate
}

type Thread = Awaited<ReturnType<TestEnvironment['threads']['create']>>

/** A thread whose run has ended, and whose end was not stored. */
async function withUnstoredEnd(
  id: string,
  work: (env: TestEnvironment, thread: Thread, requests: () => number) => Promise<void>,
  gate = openGate(),
): Promise<void> {
  const server = await startTimeSkippingServer()
  const { models, tools, script } = createThreadScripts()
  const failed: string[] = []
  const worker = {
    workflowBundle: { codePath: inject('workflowBundlePath') },
    interceptors: { activity: [failingOnce(failed, gate)] },
  }
  const env = await testEnvironment({
    ...{ server: server.environment, registry: workflowDesk, models, tools, worker },
  })
  try {
    // A run that ends with a tool has a settle of its own.
    const { chat } = script(id, {
      chat: () => ({ toolCalls: [{ name: 'finish' }] }),
      tools: { finish: () => ({ status: 'success' }) },
    })
    const thread = await env.threads.create({ agent: 'closer', id, message: marked('Hello') })
    await until('the failure', () => failed.length === 1)
    await work(env, thread, () => chat.requests.length)
  } finally {
    await env.close()
    await server.stop()
  }
}

const runOf = ({ store }: TestEnvironment, threadId: string) =>
  store.read((db) => findRun(db, { threadId, number: 1 }))

test('T8 the end of a run is asked for until it is stored', () =>
  withUnstoredEnd('stored-again', async (env, thread, requests) => {
    await thread.send(marked('And now?'))
    expect((await runOf(env, thread.threadId))?.ended_at).toBeNull()
    await env.sleep('2 minutes')
    await thread.waitUntilIdle()
    expect((await runOf(env, thread.threadId))?.ended_at).toEqual(expect.any(Number))
    expect(requests()).toBe(2)
  }))

test('T8 a terminate asks for the end of a run at once', () =>
  withUnstoredEnd('stored-at-once', async (env, thread) => {
    await thread.terminate()
    await until('the end', async () => (await runOf(env, thread.threadId))?.ended_at != null)
    expect(await runOf(env, thread.threadId)).toMatchObject({ reason: 'stop_tool' })
  }))

test('T8 a terminate while the end of a run fails to be stored asks again at once', async () => {
  const gate = createGate()
  const terminated = async (env: TestEnvironment, thread: Thread): Promise<void> => {
    await thread.terminate()
    gate.open()
    await until('the end', async () => (await runOf(env, thread.threadId))?.ended_at != null)
  }
  await withUnstoredEnd('stored-meanwhile', terminated, gate)
})

test('a thread that other stores have refused for a day waits on', async () => {
  const server = await startTimeSkippingServer()
  const { models, tools, script } = createThreadScripts()
  const refused: string[] = []
  const worker = {
    workflowBundle: { codePath: inject('workflowBundlePath') },
    plugins: [refusingForADay(refused)],
  }
  const env = await testEnvironment({
    ...{ server: server.environment, registry: workflowDesk, models, tools, worker },
  })
  try {
    const { chat } = script('refused', { chat: () => ({ text: marked('Hi') }) })
    const thread = await env.threads.create({ agent: 'clerk', id: 'refused', message: marked('Hello') })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reason: 'stop_on_response' })
    expect(refused).toEqual(['thread.callModel'])
    expect(chat.requests).toHaveLength(1)
    const names = activityNames(await recordedRuns(env.threads.temporal, 'refused'))
    expect(names).toEqual(['thread.callModel', 'thread.callModel'])
  } finally {
    await env.close()
    await server.stop()
  }
})
