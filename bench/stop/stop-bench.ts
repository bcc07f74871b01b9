/** How soon is a provider's call aborted when its thread is stopped, a message preempts its run, or its workflow is cancelled? */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'

import type { ThreadHandle } from 'everthread/client'

import type { BenchServers } from '../bench-servers.js'
import { now } from '../clock.js'
import type { BenchResult, Figure } from '../figure.js'
import { inTurns } from '../in-turns.js'
import { loopRegistry } from '../loop/loop-registry.js'
import { machineAt } from '../machine.js'
import { percentile } from '../percentile.js'
import { withThreads } from '../with-threads.js'
import type { BenchThreads } from '../with-threads.js'
import { endlessModel } from './endless-model.js'
import type { Calls } from './endless-model.js'

const WAYS = {
  stop: (thread: ThreadHandle) => thread.stop(),
  cancel: async (thread: ThreadHandle) => void (await thread.workflow.cancel()),
  preempt: (thread: ThreadHandle) => thread.send({ content: 'Now this.', deliver: 'preempt' }),
} as const
type Way = keyof typeof WAYS

/** Calls that stream at a time: few enough to keep the machine half idle. A person preempts one thread, on a quiet machine. */
const CALLS = {
  stop: { count: 200, atOnce: 20 },
  cancel: { count: 200, atOnce: 20 },
  preempt: { count: 40, atOnce: 1 },
} as const
/** A call is stopped at any moment of its first seconds. */
const LATEST = 3_000
const GOLDEN_RATIO = 0.618_033_988_75

export async function stopBench(
  servers: BenchServers,
): Promise<BenchResult & { readonly machine: readonly string[] }> {
  const { model, calls } = endlessModel()
  const registry = loopRegistry({ model })
  return withThreads(servers, { taskQueue: 'bench-stop', registry }, async (bench) => {
    const stop = await measureWay(bench, calls, 'stop')
    const cancel = await measureWay(bench, calls, 'cancel')
    const preempt = await measureWay(bench, calls, 'preempt')
    return { ...report({ stop, cancel, preempt }), machine: await machineAt(servers) }
  })
}

/** Milliseconds of each. */
function measureWay({ threads }: BenchThreads, calls: Calls, way: Way): Promise<readonly number[]> {
  return inTurns(CALLS[way], async (n) => {
    const id = randomUUID()
    const thread = await threads.create({ id, agent: 'worker', message: 'Talk.' })
    await calls.began(id)
    // Even over the whole time, the same in each run.
    await delay(((n * GOLDEN_RATIO) % 1) * LATEST)
    const from = now()
    await WAYS[way](thread)
    const at = await calls.aborted(id)
    // The run that preempted has a call of its own, which does not end by itself.
    if (way === 'preempt') await thread.terminate()
    await thread.waitUntilIdle()
    return at - from
  })
}

const HEAD = ['by', 'p50 ms', 'p90 ms', 'p99 ms', 'max ms', 'calls']

function report(times: Readonly<Record<Way, readonly number[]>>): BenchResult {
  const figures: Figure[] = []
  const table: string[][] = [HEAD]
  for (const way of ['stop', 'cancel', 'preempt'] as const) {
    const parts = [0.5, 0.9, 0.99, 1].map((part) => percentile(times[way], part))
    table.push([way, ...parts.map((value) => value.toFixed(0)), String(times[way].length)])
    const figure = (name: string, part: number): Figure => {
      const value = percentile(times[way], part)
      return { bench: 'stop', figure: `${way}_to_abort_${name}_ms`, value, unit: 'ms' }
    }
    figures.push(figure('p50', 0.5), figure('p99', 0.99))
  }
  const notes = [
    'Milliseconds from the call of stop(), of the workflow handle’s cancel(), or of send() with preempt, to the abort of the provider’s call.',
    `${CALLS.stop.atOnce} calls stream at a time, of those that are preempted one; each is stopped at another moment of its first ${LATEST / 1000} s.`,
    'How each figure is made: bench/README.md',
  ]
  return { figures, table, notes }
}
