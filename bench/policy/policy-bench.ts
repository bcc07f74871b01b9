/**
 * What the judgement of a call and budgets cost: a step of a thread with rules of each source and a policy function, and one of a thread
 * with budgets, against one of a thread with nothing.
 */
import { definePolicy } from 'everthread'
import type { Budgets } from 'everthread'
import type { CreateThread } from 'everthread/client'

import type { Client } from '@temporalio/client'

import type { BenchServers } from '../bench-servers.js'
import { writeBundles } from '../bundles.js'
import type { BenchResult, Figure } from '../figure.js'
import { withLoopingWorker } from '../looping-worker.js'
import type { LoopingWorker } from '../looping-worker.js'
import { describeMachine } from '../machine.js'
import { threadCrew } from '../many/measure-crowd.js'
import { median } from '../median.js'
import { countedRounds } from '../sides.js'
import type { StepTime } from '../step/stopwatch.js'
import { inTemporaryFolder } from '../temporary-folder.js'

/** Whole activities of ten: Temporal's part of a step, which varies more than what is measured, is a tenth of the usual one. */
const STEPS = 50
/** Many short ones: what another program does in a second is in few of them, and the median leaves those out. */
const PAIRS = countedRounds(60)
/** The first ones pay for compilation on all sides. */
const WARM_UP = 8
/** Of the worker and of the thread: most say nothing about the call. */
const RULES = Object.fromEntries(
  Array.from({ length: 50 }, (_, n) => [`area_${n}.*`, 'require_approval'] as const),
)

/** Nothing comes near them: each model call and each tool call is charged to two subjects. */
const BUDGETS: Budgets = {
  run: { maxSteps: 1_000_000 },
  tree: { maxModelCalls: 1_000_000, maxToolCalls: 1_000_000, maxOutputTokens: 1_000_000_000 },
}

/** The sides of a round, which are measured in turns. */
type Round = Readonly<Record<'plain' | 'judged' | 'budgeted', StepTime>>

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
      const rounds: Round[] = []
      for (let n = -WARM_UP; n < PAIRS; n += 1) {
        const round = await measureRound(n + WARM_UP, {
          plain: () => steps(plain, {}),
          judged: () => steps(judged, { permissions: { ...RULES, 'work.*': 'allow' } }),
          budgeted: () => steps(plain, { budgets: BUDGETS }),
        })
        if (n >= 0) rounds.push(round)
      }
      const { figures, table, notes } = report(rounds)
      const ratio = await measureCrowds(servers, plain.client)
      return {
        figures: [...figures, { bench: 'policy', figure: 'crowd_steps_ratio', value: ratio, unit: '' }],
        ...{ table, notes, machine: await describeMachine(plain.client.workflow, servers) },
      }
    }),
  )
}

const CROWD = { loops: 50, steps: 10 } as const
const CROWD_PAIRS = countedRounds(7)

/** Steps a second of 50 threads with budgets, against as many without: the median of pairs, by two worker processes. */
async function measureCrowds(servers: BenchServers, client: Client): Promise<number> {
  return inTemporaryFolder(async (folder) => {
    const bench = { servers, client, bundles: await writeBundles(folder) }
    const plain = await threadCrew(bench, CROWD)
    const budgeted = await threadCrew(bench, CROWD, { budgets: BUDGETS })
    try {
      const ratios: number[] = []
      for (let n = -1; n < CROWD_PAIRS; n += 1) {
        const inOrder = n % 2 === 0
        const first = await (inOrder ? plain : budgeted).round()
        const second = await (inOrder ? budgeted : plain).round()
        const ratio = second.stepsPerSecond / first.stepsPerSecond
        if (n >= 0) ratios.push(inOrder ? ratio : 1 / ratio)
      }
      return median(ratios)
    } finally {
      await plain.end()
      await budgeted.end()
    }
  })
}

/** All orders: what was measured before leaves caches warm, most of all for a thread of the same worker. */
const ORDERS: readonly (readonly (keyof Round)[])[] = [
  ['plain', 'judged', 'budgeted'],
  ['budgeted', 'judged', 'plain'],
  ['judged', 'budgeted', 'plain'],
  ['plain', 'budgeted', 'judged'],
  ['budgeted', 'plain', 'judged'],
  ['judged', 'plain', 'budgeted'],
]

/** One right after the other, in turns: a later one meets a warmer machine. */
async function measureRound(
  n: number,
  measures: Readonly<Record<keyof Round, () => Promise<StepTime>>>,
): Promise<Round> {
  const times: Partial<Record<keyof Round, StepTime>> = {}
  for (const side of ORDERS[n % ORDERS.length] ?? []) times[side] = await measures[side]()
  const { plain, judged, budgeted } = times
  if (plain === undefined || judged === undefined || budgeted === undefined)
    throw new Error('Expected a time of each side.')
  return { plain, judged, budgeted }
}

/** Of a new thread, so that each turn has the same conversation. */
async function steps(
  worker: LoopingWorker,
  given: Pick<CreateThread, 'permissions' | 'budgets'>,
): Promise<StepTime> {
  const thread = await worker.createThread('ahead', given)
  worker.stopwatch.reset()
  await worker.takeTurn(thread, { calls: STEPS, resultLength: 2 })
  const time = worker.stopwatch.perStep()
  await thread.terminate()
  return time
}

/** The names of the figures: what a judged call, and what a budgeted step, costs more. */
const NAMES = { judged: ['call', 'step'], budgeted: ['budget', 'budget_step'] } as const

function report(rounds: readonly Round[]): BenchResult {
  const figures: Figure[] = []
  const table: string[][] = [['a step', 'plain ms', 'with it ms', 'difference ms', 'ratio']]
  for (const side of ['judged', 'budgeted'] as const)
    for (const time of ['clock', 'processor'] as const) {
      const plain = median(rounds.map((round) => round.plain[time]))
      const other = median(rounds.map((round) => round[side][time]))
      const difference = median(rounds.map((round) => round[side][time] - round.plain[time]))
      const ratio = median(rounds.map((round) => round[side][time] / round.plain[time]))
      table.push([`${side}, ${time}`, ...[plain, other, difference, ratio].map((value) => value.toFixed(3))])
      const [name, step] = NAMES[side]
      figures.push(
        { bench: 'policy', figure: `${name}_${time}_ms`, value: difference, unit: 'ms' },
        { bench: 'policy', figure: `${step}_${time}_ratio`, value: ratio, unit: '' },
      )
    }
  const notes = [
    `${PAIRS} rounds of ${STEPS} steps with one call each, ten in an activity: medians of the rounds.`,
    'Judged: 50 rules of the worker and 51 of the thread, a policy function, and a tool with a capability; each call leaves an event more.',
    'Budgeted: a budget of the run and one of the tree, to which each model call and each tool call is charged.',
    `crowd_steps_ratio: steps a second of ${CROWD.loops} threads at once with these budgets / without, ${CROWD_PAIRS} pairs.`,
    'How each figure is made: bench/README.md',
  ]
  return { figures, table, notes }
}
