/** How soon does an idle thread's model get a message? */
import type { BenchServers } from '../bench-servers.js'
import type { BenchResult, Figure } from '../figure.js'
import { machineAt } from '../machine.js'
import { percentile } from '../percentile.js'
import { CACHES, measureWakes } from './measure-wakes.js'

const FIGURES = { warm: 'wake', cold: 'wake_cold' } as const
const HEAD = ['cache', 'p50 ms', 'p90 ms', 'p99 ms', 'wakes']

export async function wakeBench(
  servers: BenchServers,
): Promise<BenchResult & { readonly machine: readonly string[] }> {
  const figures: Figure[] = []
  const table: string[][] = [HEAD]
  for (const cache of CACHES) {
    const times = await measureWakes(servers, cache)
    const parts = [0.5, 0.9, 0.99].map((part) => percentile(times, part))
    table.push([cache.name, ...parts.map((value) => value.toFixed(1)), String(times.length)])
    for (const [name, part] of [
      ['p50', 0.5],
      ['p99', 0.99],
    ] as const) {
      const value = percentile(times, part)
      figures.push({ bench: 'wake', figure: `${FIGURES[cache.name]}_${name}_ms`, value, unit: 'ms' })
    }
  }
  return { figures, table, notes: NOTES, machine: await machineAt(servers) }
}

const NOTES = [
  'Milliseconds from `send` in a client to the call of the model; worker and client are one process.',
  'cold: the worker had evicted the thread, and reads its history first.',
  'How each figure is made: bench/README.md',
]
