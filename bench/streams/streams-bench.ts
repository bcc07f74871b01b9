/** What open streams of events cost the worker: threads that 100 readers follow over HTTP, against threads that nobody follows. */
import { Client, Connection } from '@temporalio/client'
import { DefaultLogger, Runtime } from '@temporalio/worker'
import { ThreadClient } from 'everthread/client'

import type { BenchServers } from '../bench-servers.js'
import { writeBundles } from '../bundles.js'
import type { BenchResult, Figure } from '../figure.js'
import { inTurns } from '../in-turns.js'
import type { Rate } from '../loop/tally.js'
import { describeMachine } from '../machine.js'
import { median } from '../median.js'
import { startProcess } from '../processes/bench-process.js'
import type { BenchProcess } from '../processes/bench-process.js'
import type { LoopWorker } from '../processes/loop-worker.js'
import type { ThreadPlace } from '../processes/thread-worker.js'
import { WORKER_NODE_OPTIONS } from '../processes/worker-node-options.js'
import { countedRounds } from '../sides.js'
import { inTemporaryFolder } from '../temporary-folder.js'
import type { StreamPlace, StreamServer } from './stream-server.js'

const THREADS = 10
/** Of each thread: 100 in all. */
const READERS = 10
const STEPS = 40
const PAIRS = countedRounds(15)
/** The first ones pay for compilation on both sides. */
const WARM_UP = 2

interface Pair {
  readonly alone: Rate
  readonly followed: Rate
}

interface Place {
  readonly threads: ThreadClient
  readonly worker: BenchProcess<LoopWorker>
  readonly server: BenchProcess<StreamServer>
}

export function streamsBench(
  servers: BenchServers,
): Promise<BenchResult & { readonly machine: readonly string[] }> {
  Runtime.install({ logger: new DefaultLogger('WARN') })
  return inTemporaryFolder(async (folder) => {
    const { address, store } = servers
    const { thread } = await writeBundles(folder)
    const taskQueue = 'bench-streams'
    const place: ThreadPlace = { address, taskQueue, store, codePath: thread.path }
    const worker = await startProcess<LoopWorker>(
      new URL('../processes/thread-worker.ts', import.meta.url),
      place,
      WORKER_NODE_OPTIONS,
    )
    const server = await startProcess<StreamServer>(new URL('stream-server.ts', import.meta.url), {
      address,
      taskQueue,
      store,
    } satisfies StreamPlace)
    const connection = await Connection.connect({ address })
    const client = new Client({ connection })
    const threads = new ThreadClient({ client, taskQueue, store })
    try {
      const pairs: Pair[] = []
      for (let n = -WARM_UP; n < PAIRS; n += 1) {
        const pair = await measurePair({ threads, worker, server }, n)
        if (n >= 0) pairs.push(pair)
      }
      return { ...report(pairs), machine: await describeMachine(client.workflow, servers) }
    } finally {
      await Promise.all([worker.end(), server.end(), threads.close()])
      await connection.close()
    }
  })
}

/** In turns: the second one meets a warmer machine. */
async function measurePair(place: Place, n: number): Promise<Pair> {
  if (n % 2 === 0) {
    const alone = await measure(place, false)
    return { alone, followed: await measure(place, true) }
  }
  const followed = await measure(place, true)
  return { alone: await measure(place, false), followed }
}

/** A turn of new threads, so that each has the same conversation. */
async function measure({ threads, worker, server }: Place, isFollowed: boolean): Promise<Rate> {
  const created = await inTurns({ count: THREADS, atOnce: THREADS }, () =>
    threads.create({ agent: 'worker' }),
  )
  if (isFollowed)
    await server.ask('open', { threadIds: created.map(({ threadId }) => threadId), each: READERS })
  await worker.ask('begin', { loops: THREADS, steps: STEPS })
  await Promise.all(created.map((thread) => thread.send('Go on.')))
  await worker.ask('done')
  const rate = await worker.ask('rate', 'middle')
  await Promise.all(created.map((thread) => thread.waitUntilIdle()))
  if (isFollowed && (await server.ask('close')) < THREADS * READERS * STEPS * 100)
    throw new Error('Expected the readers to have had the events of all steps.')
  await Promise.all(created.map((thread) => thread.terminate()))
  return rate
}

function report(pairs: readonly Pair[]): BenchResult {
  const ratios = pairs.map(({ alone, followed }) => followed.processor / alone.processor)
  const [ratio, lowest, highest] = [median(ratios), Math.min(...ratios), Math.max(...ratios)]
  const alone = median(pairs.map((pair) => pair.alone.processor))
  const followed = median(pairs.map((pair) => pair.followed.processor))
  const figure = (name: string, value: number, unit: string): Figure => ({
    ...{ bench: 'streams', figure: name, value, unit },
  })
  return {
    figures: [
      figure('processor_ratio', ratio, 'x'),
      figure('processor_ms', alone, 'ms'),
      figure('processor_followed_ms', followed, 'ms'),
    ],
    table: [
      ['readers', 'ratio', 'lowest', 'highest', 'alone ms', 'followed ms'],
      [
        String(THREADS * READERS),
        ...[ratio, lowest, highest, alone, followed].map((value) => value.toFixed(3)),
      ],
    ],
    notes: [
      `Processor time of the worker process for a step: medians of ${PAIRS} pairs of ${THREADS} threads of ${STEPS} steps.`,
      'Followed: a server of its own process has 10 streams of events of each thread open.',
      'How each figure is made: bench/README.md',
    ],
  }
}
