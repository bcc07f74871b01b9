/** Is a step of a thread of ten thousand messages as cheap as one of its first hundreds? */
import type { BenchServers } from '../bench-servers.js'
import type { BenchResult, Figure } from '../figure.js'
import { withLoopingWorker } from '../looping-worker.js'
import { describeMachine } from '../machine.js'
import { median } from '../median.js'
import { temporalRuns } from '../step/history-cost.js'
import { measureLife } from './measure-life.js'
import type { LongLife } from './measure-life.js'

export async function longThreadBench(
  servers: BenchServers,
): Promise<BenchResult & { readonly machine: readonly string[] }> {
  const options = { taskQueue: 'bench-long-thread', maxSteps: 2_000 }
  return withLoopingWorker(servers, options, async (worker) => {
    const countRuns = async ({ threadId }: { readonly threadId: string }): Promise<number> => {
      let runs = 0
      for await (const _run of temporalRuns(worker.client, threadId)) runs += 1
      return runs
    }
    const thread = await measureLife(worker, 'worker', countRuns)
    const ahead = await measureLife(worker, 'ahead', countRuns)
    const machine = await describeMachine(worker.client.workflow, servers)
    return {
      figures: [...figuresOf(thread, ''), ...figuresOf(ahead, 'run_ahead_')],
      table: [
        ['same minute', 'old thread ms / step', 'young thread', 'ratio'],
        ...rowsOf(thread, 'thread'),
        ...rowsOf(ahead, 'run ahead'),
      ],
      notes: ['Of 100 steps each. How each figure is made: bench/README.md'],
      machine,
    }
  })
}

function figuresOf(
  { messages, continuedAsNew, early, late, pairs }: LongLife,
  prefix: string,
): readonly Figure[] {
  const figure = (name: string, value: number, unit: string): Figure => ({
    bench: 'long-thread',
    figure: `${prefix}${name}`,
    value,
    unit,
  })
  return [
    figure('late_to_early_step_ratio', late / early, 'x'),
    figure('old_to_young_step_ratio', median(pairs.map(({ old, young }) => old / young)), 'x'),
    figure('early_ms_per_step', early, 'ms'),
    figure('late_ms_per_step', late, 'ms'),
    figure('messages', messages, 'messages'),
    figure('continued_as_new', continuedAsNew, 'times'),
  ]
}

function rowsOf({ pairs }: LongLife, loop: string): BenchResult['table'] {
  return pairs.map(({ old, young }, index) => [
    `${loop}, pair ${index + 1}`,
    ...[old, young, old / young].map((value) => value.toFixed(2)),
  ])
}
