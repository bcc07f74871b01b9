import { Client } from '@temporalio/client'
import { NativeConnection } from '@temporalio/worker'

import { loopRegistry } from '../../bench/loop/loop-registry.js'
import { loopingModel } from '../../bench/step/looping-model.js'
import type { Turn } from '../../bench/step/looping-model.js'
import { createStopwatch } from '../../bench/step/stopwatch.js'
import { ThreadClient } from '../../src/client/index.js'
import type { RunResult, ThreadHandle } from '../../src/client/index.js'
import { createWorker } from '../../src/worker/index.js'
import { marked } from './marker.js'
import { makePlace } from './test-store.js'

/** A worker whose agent calls its tool as often as a test says, with results as long as it says. */
export interface LoopingThreads {
  readonly client: Client
  create(): Promise<ThreadHandle>
  turn(thread: ThreadHandle, turn: Omit<Turn, 'ended'>): Promise<RunResult>
  close(): Promise<void>
}

export async function startLoopingThreads(address: string): Promise<LoopingThreads> {
  const taskQueue = 'looping-threads'
  const { place: store, remove } = await makePlace()
  const turn: Turn = { calls: 0, resultLength: 0, ended: () => {} }
  const connection = await NativeConnection.connect({ address })
  const client = new Client({ connection })
  const worker = await createWorker({
    registry: loopRegistry({
      model: loopingModel(turn, createStopwatch()),
      prompt: marked('You work step by step.'),
      result: () => marked('x'.repeat(turn.resultLength)),
    }),
    store,
    connection,
    taskQueue,
    shutdownGraceTime: 0,
  })
  const running = worker.run()
  const threads = new ThreadClient({ client, taskQueue, store })
  return {
    client,
    create: () => threads.create({ agent: 'worker' }),
    async turn(thread, next) {
      Object.assign(turn, next)
      await thread.send(marked('Go on.'))
      return thread.waitUntilIdle({ timeout: '2 minutes' })
    },
    async close() {
      await threads.close()
      worker.shutdown()
      await running
      await connection.close()
      await remove()
    },
  }
}
