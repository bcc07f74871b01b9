import { randomUUID } from 'node:crypto'

import type { Client } from '@temporalio/client'
import { ThreadClient } from 'everthread/client'

import type { BenchServers } from '../bench-servers.js'
import { inTurns } from '../in-turns.js'
import type { Rate } from '../loop/tally.js'
import { startProcess } from '../processes/bench-process.js'
import type { BenchProcess } from '../processes/bench-process.js'
import type { Bundles } from '../bundles.js'
import type { LoopPlace, LoopWorker } from '../processes/loop-worker.js'
import type { ThreadPlace } from '../processes/thread-worker.js'
import { WORKER_NODE_OPTIONS } from '../processes/worker-node-options.js'
import type { bareLoop } from '../step/bare-loop.js'

/** How many loops run at once, and how many steps each takes: some ten seconds for each side. */
export const CROWDS = [
  { loops: 10, steps: 50 },
  { loops: 50, steps: 20 },
  { loops: 200, steps: 20 },
] as const satisfies readonly Crowd[]
const PAIRS = 4
/** The first ones pay for compilation on both sides. */
const WARM_UP_PAIRS = 1
const AT_ONCE = 50

export interface Crowd {
  readonly loops: number
  readonly steps: number
}

/** What one of the two sides did in one round. */
export interface Round extends Rate {
  /** The largest resident memory of its worker, in bytes. */
  readonly resident: number
}

export interface Pair {
  readonly bare: Round
  readonly threads: Round
}

export interface MeasuredCrowd {
  readonly crowd: Crowd
  readonly pairs: readonly Pair[]
  /** Of the main thread after the last round, with all threads idle or closed: bytes. */
  readonly heap: { readonly bare: number; readonly threads: number }
}

export interface ManyBench {
  readonly servers: BenchServers
  readonly client: Client
  readonly bundles: Bundles
}

/** Pairs of one size, by two worker processes that served nothing else. */
export async function measureCrowd(bench: ManyBench, crowd: Crowd): Promise<MeasuredCrowd> {
  const bare = await bareSide(bench, crowd)
  const threads = await threadSide(bench, crowd)
  try {
    const pairs: Pair[] = []
    for (let round = -WARM_UP_PAIRS; round < PAIRS; round += 1) {
      // Who goes first changes: the second one meets a warmer machine.
      const first = round % 2 === 0 ? await bare.round() : null
      const ours = await threads.round()
      const pair = { bare: first ?? (await bare.round()), threads: ours }
      if (round >= 0) pairs.push(pair)
    }
    return { crowd, pairs, heap: { bare: await bare.heap(), threads: await threads.heap() } }
  } finally {
    await bare.end()
    await threads.end()
  }
}

interface Side {
  round(): Promise<Round>
  heap(): Promise<number>
  end(): Promise<void>
}

async function bareSide({ servers, client, bundles }: ManyBench, crowd: Crowd): Promise<Side> {
  const { loops, steps } = crowd
  const taskQueue = `bench-many-bare-${loops}`
  const place: LoopPlace = { address: servers.address, taskQueue, codePath: bundles.bare.path }
  const worker = await startProcess<LoopWorker>(
    new URL('../processes/bare-worker.ts', import.meta.url),
    place,
    WORKER_NODE_OPTIONS,
  )
  const options = { taskQueue, args: [steps] } as const
  return {
    round: () =>
      roundOf(worker, crowd, async () => {
        const started = await inTurns({ count: loops, atOnce: AT_ONCE }, () =>
          client.workflow.start<typeof bareLoop>('bareLoop', { ...options, workflowId: randomUUID() }),
        )
        return async () => void (await Promise.all(started.map((handle) => handle.result())))
      }),
    heap: () => heapOf(worker),
    end: () => worker.end(),
  }
}

async function threadSide({ servers, client, bundles }: ManyBench, crowd: Crowd): Promise<Side> {
  const { address, store } = servers
  const taskQueue = `bench-many-threads-${crowd.loops}`
  const place: ThreadPlace = { address, taskQueue, store, codePath: bundles.thread.path }
  const worker = await startProcess<LoopWorker>(
    new URL('../processes/thread-worker.ts', import.meta.url),
    place,
    WORKER_NODE_OPTIONS,
  )
  const threads = new ThreadClient({ client, taskQueue, store })
  return {
    round: () =>
      roundOf(worker, crowd, async () => {
        const all = { count: crowd.loops, atOnce: AT_ONCE }
        const started = await inTurns(all, () => threads.create({ agent: 'worker' }))
        // At once, so that the first ones are not done before the last ones begin.
        await Promise.all(started.map((thread) => thread.send('Go on.')))
        // As the bare loops do, they end: the next round begins with none.
        return async () => {
          await inTurns(all, async (n) => {
            await started[n]?.terminate()
            await started[n]?.waitUntilIdle({ timeout: '2 minutes' })
          })
        }
      }),
    heap: () => heapOf(worker),
    async end() {
      await threads.close()
      await worker.end()
    },
  }
}

/** `start` begins all loops and answers how their ends are awaited, which is not measured. */
async function roundOf(
  worker: BenchProcess<LoopWorker>,
  { loops, steps }: Crowd,
  start: () => Promise<() => Promise<void>>,
): Promise<Round> {
  await worker.ask('begin', { loops, steps })
  const ended = await start()
  const { largest } = await worker.ask('done')
  const rate = await worker.ask('rate')
  await ended()
  return { ...rate, resident: largest }
}

async function heapOf(worker: BenchProcess<LoopWorker>): Promise<number> {
  return (await worker.ask('memory')).heap
}
