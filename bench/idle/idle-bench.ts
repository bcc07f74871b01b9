/** What do ten thousand idle threads cost their worker, and how soon is one of them awake? */
import type { BenchServers } from '../bench-servers.js'
import type { BenchResult, Figure } from '../figure.js'
import { machineAt } from '../machine.js'
import { percentile } from '../percentile.js'
import { NODE_OPTIONS_NOTE } from '../processes/worker-node-options.js'
import { FEW, measureIdle } from './measure-idle.js'

const THREADS = Number(process.env['EVERTHREAD_BENCH_IDLE'] ?? 10_000)
const MB = 2 ** 20

export async function idleBench(
  servers: BenchServers,
): Promise<BenchResult & { readonly machine: readonly string[] }> {
  const { first, few, many, threads, turnsPerSecond, wakes } = await measureIdle(servers, THREADS)
  const figure = (name: string, value: number, unit: string): Figure => ({
    bench: 'idle',
    figure: name,
    value,
    unit,
  })
  const [p50, p99] = [percentile(wakes, 0.5), percentile(wakes, 0.99)]
  const figures = [
    figure('threads', threads, 'threads'),
    figure('memory_ratio', many.resident / few.resident, 'x'),
    figure('memory', many.resident / MB, 'MB'),
    figure('memory_ratio_to_first', many.resident / first.resident, 'x'),
    figure('heap_ratio', many.heap / few.heap, 'x'),
    figure('wake_idle_p50_ms', p50, 'ms'),
    figure('wake_idle_p99_ms', p99, 'ms'),
  ]
  const line = (name: string, of: typeof few): readonly string[] => [
    name,
    (of.resident / MB).toFixed(0),
    (of.heap / MB).toFixed(1),
  ]
  const table = [
    ['idle threads', 'MB', 'heap MB'],
    line(`${FEW}, at first`, first),
    line(String(FEW), few),
    line(String(threads), many),
  ]
  const notes = [
    `MB: resident memory of the worker that served them all, with maxCachedWorkflows ${FEW}; heap: of its main thread.`,
    `${turnsPerSecond.toFixed(0)} threads a second were made and had their first turn.`,
    `Of ${wakes.length} threads, one after the other, from the message to the model: p50 ${p50.toFixed(1)} ms.`,
    NODE_OPTIONS_NOTE,
    'How each figure is made: bench/README.md',
  ]
  return { figures, table, notes, machine: await machineAt(servers) }
}
