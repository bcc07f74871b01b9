/** How long does a worker that knows nothing of a thread take to replay its history? */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { BenchServers } from '../bench-servers.js'
import { writeBundles } from '../bundles.js'
import type { BenchResult, Figure } from '../figure.js'
import { withLoopingWorker } from '../looping-worker.js'
import { describeMachine } from '../machine.js'
import { median } from '../median.js'
import { bareActivities } from '../step/bare-activities.js'
import { recordHistories } from './record-histories.js'
import type { KeptRun } from './record-histories.js'
import { replayOnce } from './replay-once.js'

const ROUNDS = 9

interface Case {
  readonly name: string
  readonly run: KeptRun
  readonly bundle: string
  readonly times: number[]
}

export async function replayBench(
  servers: BenchServers,
): Promise<BenchResult & { readonly machine: readonly string[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-replay-'))
  const options = {
    taskQueue: 'bench-replay',
    workflowsPath: new URL('../step/workflows.ts', import.meta.url).pathname,
    activities: bareActivities,
    maxSteps: 1_001,
  }
  try {
    const { recorded, machine } = await withLoopingWorker(servers, options, async (worker) => ({
      recorded: await recordHistories(worker, folder),
      machine: await describeMachine(worker.client.workflow, servers),
    }))
    const { thread, bare } = await writeBundles(folder)
    const { turn, longTurn } = recorded
    const cases: readonly Case[] = [
      { name: '100 calls', run: turn, bundle: thread.path, times: [] },
      { name: '100 bare steps', run: recorded.bare, bundle: bare.path, times: [] },
      ...longTurn.map((run, index) => {
        const name = `1,000 calls, run ${index + 1} of ${longTurn.length}`
        return { name, run, bundle: thread.path, times: [] }
      }),
    ]
    // In turn, so that a burst of other work does not hit one of them alone.
    for (let round = 0; round < ROUNDS; round += 1)
      for (const { run, bundle, times } of cases) times.push(await replayOnce(run.path, bundle))
    return { ...report(cases), machine }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function report(cases: readonly Case[]): BenchResult {
  const figure = (name: string, value: number, unit: string): Figure => ({
    bench: 'replay',
    figure: name,
    value,
    unit,
  })
  const [turn, bare, ...longTurn] = cases.map(({ times }) => median(times))
  if (turn === undefined || bare === undefined) throw new Error('Expected replays.')
  return {
    figures: [
      figure('replay_100_calls_ms', turn, 'ms'),
      figure('bare_replay_100_steps_ms', bare, 'ms'),
      figure('replay_ratio', turn / bare, 'x'),
      figure('replay_1000_steps_ms', Math.max(...longTurn), 'ms'),
      figure('temporal_runs_of_1000_steps', longTurn.length, 'runs'),
    ],
    table: [
      ['history', 'events', 'median ms', 'lowest', 'highest'],
      ...cases.map(({ name, run, times }) => [
        name,
        String(run.events),
        ...[median(times), Math.min(...times), Math.max(...times)].map((value) => value.toFixed(0)),
      ]),
    ],
    notes: [
      `${ROUNDS} fresh processes each, in turn. How each figure is made, and what is in the time: bench/README.md`,
    ],
  }
}
