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
import type { KeptRun, Recorded } from './record-histories.js'
import { replayOnce } from './replay-once.js'

const ROUNDS = 9

const WHAT = ['100 calls', '100 bare steps', '1,000 calls'] as const

interface Case {
  readonly of: (typeof WHAT)[number]
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
    const cases = replayedCases(recorded, { thread: thread.path, bare: bare.path })
    // In turn, so that a burst of other work does not hit one of them alone.
    for (let round = 0; round < ROUNDS; round += 1)
      for (const { run, bundle, times } of cases) times.push(await replayOnce(run.path, bundle))
    return { ...report(cases, recorded), machine }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function replayedCases(
  { turn, longTurn, bare }: Recorded,
  bundles: { readonly thread: string; readonly bare: string },
): readonly Case[] {
  const runsOf = (of: Case['of'], runs: readonly KeptRun[]): readonly Case[] =>
    runs.map((run, index) => {
      const name = `${of}, run ${index + 1} of ${runs.length}`
      return { of, name, run, bundle: bundles.thread, times: [] }
    })
  // Runs between the first and the last are all alike.
  const ends = longTurn.filter((_run, index) => index < 2 || index >= longTurn.length - 2)
  return [
    ...runsOf('100 calls', turn),
    { of: '100 bare steps', name: '100 bare steps', run: bare, bundle: bundles.bare, times: [] },
    ...runsOf('1,000 calls', ends),
  ]
}

function report(cases: readonly Case[], { turn, longTurn }: Recorded): BenchResult {
  const figure = (name: string, value: number, unit: string): Figure => ({
    bench: 'replay',
    figure: name,
    value,
    unit,
  })
  // The worst that a worker may find.
  const longest = (what: Case['of']): number =>
    Math.max(...cases.filter(({ of }) => of === what).map(({ times }) => median(times)))
  const [calls, bare, steps] = WHAT.map(longest) as [number, number, number]
  return {
    figures: [
      figure('replay_100_calls_ms', calls, 'ms'),
      figure('bare_replay_100_steps_ms', bare, 'ms'),
      figure('replay_ratio', calls / bare, 'x'),
      figure('replay_1000_steps_ms', steps, 'ms'),
      figure('temporal_runs_of_100_calls', turn.length, 'runs'),
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
