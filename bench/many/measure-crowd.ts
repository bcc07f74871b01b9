import { randomUUID } from 'node:crypto'

import type { Client } from '@temporalio/client'
import { ThreadClient } from 'everthread/client'
import type { CreateThread } from 'everthread/client'

import type { BenchServers } from '../bench-servers.js'
import { inTurns } from '../in-turns.js'
import type { Rate, Window } from '../loop/tally.js'
import { startProcess } from '../processes/bench-process.js'
import type { BenchProcess } from '../processes/bench-process.js'
import type { Bundles } from '../bundles.js'
import type { LoopPlace, LoopWorker } from '../processes/loop-worker.js'
import type { ThreadPlace } from '../processes/thread-worker.js'
import { WORKER_NODE_OPTIONS } from '../processes/worker-node-options.js'
import { countedRounds, measureRound, STEPS_AHEAD } from '../sides.js'
import type { BySide } from '../sides.js'
import type { bareLoop } from '../step/bare-loop.js'

/**
 * How many loops run at once, and how many steps each takes: some ten seconds for each side. Where threads run ahead they take more:
 * whole activities of ten.
 */
export const CROWDS = [
  { loops: 10, steps: 50, stepsAhead: 100 },
  { loops: 50, steps: 20, stepsAhead: 40 },
  { loops: 200, steps: 20, stepsAhead: 20 },
] as const satisfies readonly Crowd[]
const ROUNDS = countedRounds(4)
/** The first ones pay for compilation on all sides. */
const WARM_UP_ROUNDS = 1
const AT_ONCE = 50

export interface Crowd {
  readonly loops: number
  readonly steps: number
  readonly stepsAhead: number
}

/** What one side did in one round. */
export interface Work extends Rate {
  /** The largest resident memory of its worker, in bytes. */
  readonly resident: number
}

export interface MeasuredCrowd {
  readonly crowd: Crowd
  readonly rounds: readonly BySide<Work>[]
  /** Of the main thread after the last round, with all threads idle or closed: bytes. */
  readonly heap: BySide<number>
}

export interface ManyBench {
  readonly servers: BenchServers
  readonly client: Client
  readonly bundles: Bundles
}

/** Rounds of one size, by three worker processes that served nothing else. */
export async function measureCrowd(bench: ManyBench, crowd: Crowd): Promise<MeasuredCrowd> {
  const { loops, steps, stepsAhead } = crowd
  const started: Crew[] = []
  const begin = async (starting: Promise<Crew>): Promise<Crew> => {
    const crew = await starting
    started.push(crew)
    return crew
  }
  try {
    const crews: BySide<Crew> = {
      bare: await begin(bareCrew(bench, { loops, steps })),
      thread: await begin(threadCrew(bench, { loops, steps })),
      ahead: await begin(threadCrew(bench, { loops, steps: stepsAhead }, { runAhead: STEPS_AHEAD })),
    }
    const rounds: BySide<Work>[] = []
    for (let n = -WARM_UP_ROUNDS; n < ROUNDS; n += 1) {
      const round = await measureRound(n, (side) => crews[side].round())
      if (n >= 0) rounds.push(round)
    }
    const heap = {
      thread: await crews.thread.heap(),
      ahead: await crews.ahead.heap(),
      bare: await crews.bare.heap(),
    }
    return { crowd, rounds, heap }
  } finally {
    for (const crew of started) await crew.end()
  }
}

type Loops = Pick<Crowd, 'loops' | 'steps'>

/** A worker process and its loops. */
interface Crew {
  round(): Promise<Work>
  heap(): Promise<number>
  end(): Promise<void>
}

async function bareCrew({ servers, client, bundles }: ManyBench, crowd: Loops): Promise<Crew> {
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

interface ThreadCrew {
  /** Steps that one activity does. @default 1 */
  readonly runAhead?: number
  /** Of each thread. @default none */
  readonly budgets?: CreateThread['budgets']
}

/** Threads of a worker process of their own. */
export async function threadCrew(
  { servers: { address, store }, client, bundles }: ManyBench,
  crowd: Loops,
  { runAhead, budgets }: ThreadCrew = {},
): Promise<Crew> {
  const kind = `${runAhead === undefined ? 'threads' : 'ahead'}${budgets === undefined ? '' : '-budgeted'}`
  const taskQueue = `bench-many-${kind}-${crowd.loops}`
  const place: ThreadPlace = {
    ...{ address, taskQueue, store, codePath: bundles.thread.path },
    ...(runAhead !== undefined && { runAhead }),
  }
  const worker = await startProcess<LoopWorker>(
    new URL('../processes/thread-worker.ts', import.meta.url),
    place,
    WORKER_NODE_OPTIONS,
  )
  // Threads that run ahead take turns by whole activities: on a busy machine the first ends before the last begins.
  const window = runAhead === undefined ? 'all_at_it' : 'middle'
  const threads = new ThreadClient({ client, taskQueue, store })
  return {
    round: () =>
      roundOf(worker, { ...crowd, window }, async () => {
        const all = { count: crowd.loops, atOnce: AT_ONCE }
        const given = { agent: 'worker', ...(budgets !== undefined && { budgets }) }
        const started = await inTurns(all, () => threads.create(given))
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
  { loops, steps, window = 'all_at_it' }: Loops & { readonly window?: Window },
  start: () => Promise<() => Promise<void>>,
): Promise<Work> {
  await worker.ask('begin', { loops, steps })
  const ended = await start()
  const { largest } = await worker.ask('done')
  const rate = await worker.ask('rate', window)
  await ended()
  return { ...rate, resident: largest }
}

async function heapOf(worker: BenchProcess<LoopWorker>): Promise<number> {
  return (await worker.ask('memory')).heap
}
