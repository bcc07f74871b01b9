import { setTimeout as delay } from 'node:timers/promises'

import { Client, Connection } from '@temporalio/client'
import { ThreadClient } from 'everthread/client'

import type { BenchServers } from '../bench-servers.js'
import { now } from '../clock.js'
import { inTurns } from '../in-turns.js'
import { startProcess } from '../processes/bench-process.js'
import type { BenchProcess } from '../processes/bench-process.js'
import { writeBundles } from '../bundles.js'
import type { LoopWorker } from '../processes/loop-worker.js'
import type { Memory } from '../processes/memory.js'
import type { ThreadPlace } from '../processes/thread-worker.js'
import { WORKER_NODE_OPTIONS } from '../processes/worker-node-options.js'
import { inTemporaryFolder } from '../temporary-folder.js'

/** Threads with which the many are compared: as many as the cache holds. */
export const FEW = 100
/** Turns of each of the few before the first look: what a worker that has just begun has. */
const FIRST_TURNS = 10
/** So many begin before the next ones do: more than the worker takes at a time, and no line that grows. */
const BATCH = 200
const AT_ONCE = 25
const WAKES = 100
const QUIET = 120_000

export interface MeasuredIdle {
  /** With the few, after their first turns. */
  readonly first: Memory
  /** With the few, after as many turns as there are threads in all. */
  readonly few: Memory
  readonly many: Memory
  readonly threads: number
  /** Of the many turns, a second. */
  readonly turnsPerSecond: number
  /** Milliseconds from the message to the model of each wake, all but a few of threads that the worker had evicted. */
  readonly wakes: readonly number[]
}

interface IdleBench {
  readonly threads: ThreadClient
  readonly worker: BenchProcess<LoopWorker>
}

/** One worker process serves 100 threads, then all of them; its memory is looked at when nothing runs. */
export function measureIdle(servers: BenchServers, count: number): Promise<MeasuredIdle> {
  return inTemporaryFolder(async (folder) => {
    const bundles = await writeBundles(folder)
    const { address, store } = servers
    const taskQueue = 'bench-idle'
    const place: ThreadPlace = {
      address,
      taskQueue,
      store,
      codePath: bundles.thread.path,
      maxCachedWorkflows: FEW,
    }
    const worker = await startProcess<LoopWorker>(
      new URL('../processes/thread-worker.ts', import.meta.url),
      place,
      WORKER_NODE_OPTIONS,
    )
    const connection = await Connection.connect({ address })
    const threads = new ThreadClient({ client: new Client({ connection }), taskQueue, store })
    try {
      return await measure({ threads, worker }, count)
    } finally {
      await worker.end()
      await threads.close()
      await connection.close()
    }
  })
}

async function measure(bench: IdleBench, count: number): Promise<MeasuredIdle> {
  const { threads, worker } = bench
  await turns(bench, FEW, (n) => threads.create({ id: idOf(n), agent: 'worker', message: 'Hello.' }))
  const goOn = async (from: number, to: number): Promise<void> => {
    for (let turn = from; turn < to; turn += 1)
      await turns(bench, FEW, (n) => threads.get(idOf(n)).send('And now?'))
  }
  await goOn(1, FIRST_TURNS)
  const first = await worker.ask('memory')
  // Memory grows with the first thousands of turns, whosever they are: not what idle threads cost.
  await goOn(FIRST_TURNS, count / FEW)
  const few = await worker.ask('memory')
  const since = performance.now()
  await turns(bench, count - FEW, (n) =>
    threads.create({ id: idOf(FEW + n), agent: 'worker', message: 'Hello.' }),
  )
  const seconds = (performance.now() - since) / 1000
  const many = await worker.ask('memory')
  const wakes: number[] = []
  for (let n = 0; n < WAKES; n += 1) wakes.push(await wake(bench, Math.floor((n * count) / WAKES)))
  return { first, few, many, threads: count, turnsPerSecond: (count - FEW) / seconds, wakes }
}

/** One turn of each; all are idle when it returns. */
async function turns(
  { threads, worker }: IdleBench,
  count: number,
  begin: (n: number) => Promise<unknown>,
): Promise<void> {
  for (let first = 0; first < count; first += BATCH) {
    const loops = Math.min(BATCH, count - first)
    await worker.ask('begin', { loops, steps: 0 })
    await inTurns({ count: loops, atOnce: AT_ONCE }, (n) => begin(first + n))
    await worker.ask('done')
  }
  await untilIdle(threads)
}

/** By the statuses in the store: a question to each workflow would bring it back into the cache. */
async function untilIdle(threads: ThreadClient): Promise<void> {
  for (const until = Date.now() + QUIET; ; await delay(100)) {
    const { threads: running } = await threads.page({ status: 'running' }, { limit: 1 })
    if (running.length === 0) return
    if (Date.now() > until) throw new Error(`Expected all threads to be idle after ${QUIET} ms.`)
  }
}

async function wake({ threads, worker }: IdleBench, n: number): Promise<number> {
  await worker.ask('begin', { loops: 1, steps: 0 })
  const thread = threads.get(idOf(n))
  const from = now()
  await thread.send('Wake up.')
  const { last } = await worker.ask('done')
  await thread.waitUntilIdle()
  return last - from
}

function idOf(n: number): string {
  return `idle-${n}`
}
