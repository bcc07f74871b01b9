import { setTimeout as delay } from 'node:timers/promises'

import type { Client } from '@temporalio/client'
import type { CreateThread, RunResult, ThreadHandle } from 'everthread/client'
import type { CreateWorkerOptions } from 'everthread/worker'

import type { BenchServers } from './bench-servers.js'
import type { Turn } from './step/looping-model.js'
import { stepRegistry } from './step/step-registry.js'
import { createStopwatch } from './step/stopwatch.js'
import type { Stopwatch } from './step/stopwatch.js'
import { withThreads } from './with-threads.js'

/** What a turn of 100 calls takes on a busy machine, a hundred times: a bench that waits longer would never say what is wrong. */
const TURN_DEADLINE = 5 * 60_000

/** One process with one worker, one connection and one client, whose agent calls its tool as often as a turn says. */
export interface LoopingWorker {
  readonly client: Client
  readonly taskQueue: string
  readonly stopwatch: Stopwatch
  /** `ahead`: one activity does several of its steps. @default 'worker' */
  createThread(
    agent?: 'worker' | 'ahead',
    given?: Pick<CreateThread, 'permissions' | 'budgets'>,
  ): Promise<ThreadHandle>
  /** Sends a message and waits for the end of its turn. */
  takeTurn(thread: ThreadHandle, turn: Omit<Turn, 'ended'>): Promise<RunResult>
}

interface LoopingOptions extends Pick<CreateWorkerOptions, 'workflowsPath' | 'permissions' | 'policy'> {
  readonly taskQueue: string
  /** Beside those of threads. */
  readonly activities?: (stopwatch: Stopwatch) => object
  /** Of the tool. @default none */
  readonly capabilities?: readonly string[]
  /** Of one turn. @default the cap that workers have */
  readonly maxSteps?: number
}

/** Runs `work` with such a worker on the servers of the bench, and ends it. */
export async function withLoopingWorker<T>(
  servers: BenchServers,
  { taskQueue, activities, maxSteps, capabilities, ...given }: LoopingOptions,
  work: (worker: LoopingWorker) => Promise<T>,
): Promise<T> {
  const turn: Turn = { calls: 0, resultLength: 0, ended: () => {} }
  const stopwatch = createStopwatch()
  const options = {
    ...given,
    registry: stepRegistry(turn, stopwatch, capabilities),
    taskQueue,
    ...(maxSteps !== undefined && { limits: { stepsPerRun: maxSteps } }),
    ...(activities !== undefined && { activities: activities(stopwatch) }),
  }
  return withThreads(servers, options, ({ client, threads }) =>
    work({
      client,
      taskQueue,
      stopwatch,
      createThread: (agent = 'worker', of = {}) => threads.create({ agent, ...of }),
      takeTurn: (thread, next) => takeTurn(turn, thread, next),
    }),
  )
}

/** Nobody follows the thread meanwhile, as nobody follows the bare loop: that would cost the worker's process time. */
async function takeTurn(turn: Turn, thread: ThreadHandle, next: Omit<Turn, 'ended'>): Promise<RunResult> {
  const ended = new Promise<void>((resolve) =>
    Object.assign(turn, { asked: undefined, ...next, ended: resolve }),
  )
  await thread.send('Go on.')
  await Promise.race([ended, tooLong()])
  return thread.waitUntilIdle()
}

async function tooLong(): Promise<never> {
  await delay(TURN_DEADLINE, undefined, { ref: false })
  throw new Error(`Expected the end of a turn within ${TURN_DEADLINE} ms.`)
}
