/** How long does a worker process take until it polls, beside the least worker of Temporal's SDK? */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { Client, Connection } from '@temporalio/client'
import { DefaultLogger, Runtime } from '@temporalio/worker'

import type { BenchServers } from '../bench-servers.js'
import { BUNDLES, writeBundles } from '../bundles.js'
import type { Bundles } from '../bundles.js'
import type { BenchResult, Figure } from '../figure.js'
import { describeMachine } from '../machine.js'
import { median } from '../median.js'
import { timeToFirstPoll, workerCode } from './start-worker.js'

/** To bundle takes seconds, and moves little. */
const PAIRS = { prebundled: 11, bundling: 3 } as const
const WHO = ['thread', 'bare'] as const

interface Pair {
  readonly thread: number
  readonly bare: number
}
type Pairs = Readonly<Record<keyof typeof PAIRS, readonly Pair[]>>

export async function startBench(
  servers: BenchServers,
): Promise<BenchResult & { readonly machine: readonly string[] }> {
  Runtime.install({ logger: new DefaultLogger('WARN') })
  const folder = await mkdtemp(join(tmpdir(), 'everthread-start-'))
  const connection = await Connection.connect({ address: servers.address })
  try {
    const client = new Client({ connection })
    const bundles = await writeBundles(folder)
    const timer = startTimer(servers, client, bundles)
    // The first start makes the store's schema on SQLite, and fills the machine's file cache.
    await timer('prebundled', true)
    const pairs = { prebundled: [] as Pair[], bundling: [] as Pair[] }
    for (const how of ['prebundled', 'bundling'] as const)
      for (let pair = 0; pair < PAIRS[how]; pair += 1) pairs[how].push(await timer(how, pair % 2 === 0))
    return { ...report(pairs, bundles), machine: await describeMachine(client.workflow, servers) }
  } finally {
    await connection.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Times a pair; who goes first changes. */
function startTimer({ address, store }: BenchServers, client: Client, bundles: Bundles) {
  const code = { thread: workerCode('thread'), bare: workerCode('bare') }
  let starts = 0
  return async (how: keyof typeof PAIRS, threadFirst: boolean): Promise<Pair> => {
    const times = { thread: 0, bare: 0 }
    for (const who of threadFirst ? WHO : WHO.toReversed()) {
      const taskQueue = `bench-start-${(starts += 1)}`
      const own = who === 'thread' ? {} : { workflowsPath: BUNDLES.bare.workflowsPath }
      const workflows = how === 'prebundled' ? { workflowBundle: { codePath: bundles[who].path } } : own
      const options = { address, taskQueue, store, workflows }
      times[who] = await timeToFirstPoll(client, { code: code[who], taskQueue, options })
    }
    return times
  }
}

function report({ prebundled, bundling }: Pairs, bundles: Bundles): BenchResult {
  const figure = (name: string, value: number, unit: string): Figure => ({
    bench: 'start',
    figure: name,
    value,
    unit,
  })
  const middle = (pairs: readonly Pair[], who: keyof Pair): number => median(pairs.map((pair) => pair[who]))
  const lineOf = (name: string, pairs: readonly Pair[], who: keyof Pair): readonly string[] => {
    const times = pairs.map((pair) => pair[who])
    return [name, ...[median(times), Math.min(...times), Math.max(...times)].map((ms) => ms.toFixed(0))]
  }
  return {
    figures: [
      figure('worker_start_ms', middle(prebundled, 'thread'), 'ms'),
      figure('bare_worker_start_ms', middle(prebundled, 'bare'), 'ms'),
      figure('worker_start_ratio', median(prebundled.map(({ thread, bare }) => thread / bare)), 'x'),
      figure('worker_start_bundling_ms', middle(bundling, 'thread'), 'ms'),
      figure('bare_worker_start_bundling_ms', middle(bundling, 'bare'), 'ms'),
      figure('bundle_bytes', bundles.thread.bytes, 'bytes'),
      figure('bare_bundle_bytes', bundles.bare.bytes, 'bytes'),
    ],
    table: [
      ['worker process', 'median ms', 'lowest', 'highest'],
      lineOf('threads, prebundled', prebundled, 'thread'),
      lineOf('bare, prebundled', prebundled, 'bare'),
      lineOf('threads, bundling', bundling, 'thread'),
      lineOf('bare, bundling', bundling, 'bare'),
    ],
    notes: [
      `Medians of ${prebundled.length} and ${bundling.length} pairs. How each figure is made: bench/README.md`,
    ],
  }
}
