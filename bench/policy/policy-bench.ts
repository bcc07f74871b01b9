/** What the judgement of a call costs: a step of a thread with rules of each source and a policy function against one of a thread with nothing. */
import { definePolicy } from 'everthread'
import type { CreateThread } from 'everthread/client'

import type { BenchServers } from '../bench-servers.js'
import type { BenchResult, Figure } from '../figure.js'
import { withLoopingWorker } from '../looping-worker.js'
import type { LoopingWorker } from '../looping-worker.js'
import { describeMachine } from '../machine.js'
import { median } from '../median.js'
import { countedRounds } from '../sides.js'
import type { StepTime } from '../step/stopwatch.js'

const STEPS = 36
const PAIRS = countedRounds(15)
/** The first ones pay for compilation on both sides. */
const WARM_UP = 2
/** Of the worker and of the thread: most say nothing about the call. */
const RULES = Object.fromEntries(
  Array.from({ length: 50 }, (_, n) => [`area_${n}.*`, 'require_approval'] as const),
)

interface Pair {
  readonly plain: StepTime
  readonly judged: StepTime
}

export async function policyBench(
  servers: BenchServers,
): Promise<BenchResult & { readonly machine: readonly string[] }> {
  const judging = {
    permissions: RULES,
    policy: definePolicy(() => 'allow'),
    capabilities: ['work.look'],
  } as const
  return withLoopingWorker(servers, { taskQueue: 'bench-policy-plain' }, (plain) =>
    withLoopingWorker(servers, { taskQueue: 'bench-policy-judged', ...judging }, async (judged) => {
      const pairs: Pair[] = []
      for (let n = -WARM_UP; n < PAIRS; n += 1) {
        const pair = await measurePair(n, {
          plain: () => steps(plain, {}),
          judged: () => steps(judged, { permissions: { ...RULES, 'work.*': 'allow' } }),
        })
        if (n >= 0) pairs.push(pair)
      }
      return { ...report(pairs), machine: await describeMachine(plain.client.workflow, servers) }
    }),
  )
}

/** One right after the other, in turns: the second one meets a warmer machine. */
async function measurePair(
  n: number,
  measures: Readonly<Record<keyof Pair, () => Promise<StepTime>>>,
): Promise<Pair> {
  if (n % 2 === 0) return { plain: await measures.plain(), judged: await measures.judged() }
  const judged = await measures.judged()
  return { plain: await measures.plain(), judged }
}

/** Of a new thread, so that each turn has the same conversation. */
async function steps(worker: LoopingWorker, given: Pick<CreateThread, 'permissions'>): Promise<StepTime> {
  const thread = await worker.createThread('worker', given)
  worker.stopwatch.reset()
  await worker.takeTurn(thread, { calls: STEPS, resultLength: 2 })
  const time = worker.stopwatch.perStep()
  await thread.terminate()
  return time
}

function report(pairs: readonly Pair[]): BenchResult {
  const figures: Figure[] = []
  const table: string[][] = [['a step', 'plain ms', 'judged ms', 'difference ms', 'ratio']]
  for (const time of ['clock', 'processor'] as const) {
    const plain = median(pairs.map((pair) => pair.plain[time]))
    const judged = median(pairs.map((pair) => pair.judged[time]))
    const difference = median(pairs.map((pair) => pair.judged[time] - pair.plain[time]))
    const ratio = median(pairs.map((pair) => pair.judged[time] / pair.plain[time]))
    table.push([time, ...[plain, judged, difference, ratio].map((value) => value.toFixed(3))])
    figures.push(
      { bench: 'policy', figure: `call_${time}_ms`, value: difference, unit: 'ms' },
      { bench: 'policy', figure: `step_${time}_ratio`, value: ratio, unit: '' },
    )
  }
  const notes = [
    `${PAIRS} pairs of ${STEPS} steps with one call each: medians of the pairs.`,
    '50 rules of the worker and 51 of the thread, a policy function, and a tool with a capability; each call leaves an event more.',
    'How each figure is made: bench/README.md',
  ]
  return { figures, table, notes }
}
