import type { BenchResult, Figure } from '../figure.js'
import { median } from '../median.js'
import { SIDES, STEPS_AHEAD } from '../sides.js'
import type { Side } from '../sides.js'
import type { HistoryCost } from './history-cost.js'
import type { Measured, Round, measureRounds } from './measure-rounds.js'

const HEAD = [
  ...['conversation', 'loop', 'ratio', 'lowest', 'highest', 'ms a step', 'CPU ms'],
  ...['events a step', 'bytes a step'],
]
const NAMES = { thread: 'thread', ahead: 'run ahead', bare: 'bare' } as const

/** Medians over the rounds of a conversation; ratios are to the bare loop of the same round. */
interface Summary {
  readonly ratios: readonly number[]
  readonly clock: number
  readonly processor: number
  readonly cost: HistoryCost | undefined
}

interface Summaries {
  readonly name: string
  readonly of: (side: Side) => Summary
}

export function stepReport({ measured, steps }: Awaited<ReturnType<typeof measureRounds>>): BenchResult {
  const summaries = measured.map(summarize)
  return {
    figures: figuresOf(summaries, steps),
    table: [HEAD, ...summaries.flatMap(linesOf)],
    notes: [
      `Medians of ${measured[0]?.rounds.length ?? 0} rounds for each conversation; lowest and highest are single rounds.`,
      `Run ahead: one activity does ${STEPS_AHEAD} steps. Ratios are to the bare loop of the same round.`,
      'How each figure is made: bench/README.md',
    ],
  }
}

function summarize({ conversation: { name }, rounds }: Measured): Summaries {
  const middle = (value: (round: Round) => number): number => median(rounds.map(value))
  const costOf = (side: keyof Round['costs']): HistoryCost => ({
    events: middle(({ costs }) => costs[side].events),
    bytes: middle(({ costs }) => costs[side].bytes),
  })
  return {
    name,
    of: (side) => ({
      ratios: rounds.map(({ times }) => times[side].clock / times.bare.clock),
      clock: middle(({ times }) => times[side].clock),
      processor: middle(({ times }) => times[side].processor),
      cost: side === 'bare' ? undefined : costOf(side),
    }),
  }
}

function figuresOf(summaries: readonly Summaries[], steps: number): readonly Figure[] {
  const small = summaries[0]
  const large = summaries.at(-1)
  if (small === undefined || large === undefined) throw new Error('Expected at least one conversation.')
  return [
    ...figuresOfSide('', small.of('thread'), large.of('thread')),
    ...figuresOfSide('run_ahead_', small.of('ahead'), large.of('ahead')),
    figureOf('bare_ms_per_step', small.of('bare').clock, 'ms'),
    figureOf('steps_done', steps, 'steps'),
  ]
}

function figuresOfSide(prefix: string, small: Summary, large: Summary): readonly Figure[] {
  const { events = 0, bytes = 0 } = small.cost ?? {}
  const ratio = (large.cost?.bytes ?? 0) / bytes
  return [
    figureOf(`${prefix}ratio`, median(small.ratios), 'x'),
    figureOf(`${prefix}ratio_large`, median(large.ratios), 'x'),
    figureOf(`${prefix}ms_per_step`, small.clock, 'ms'),
    figureOf(`${prefix}events_per_step`, events, 'events'),
    figureOf(`${prefix}history_bytes_per_step`, bytes, 'bytes'),
    figureOf(`${prefix}history_bytes_ratio_large_to_small`, ratio, 'x'),
  ]
}

function figureOf(figure: string, value: number, unit: string): Figure {
  return { bench: 'step', figure, value, unit }
}

function linesOf({ name, of }: Summaries): readonly (readonly string[])[] {
  return SIDES.map((side) => {
    const { ratios, clock, processor, cost } = of(side)
    const relations =
      side === 'bare' ? ['', '', ''] : [median(ratios), Math.min(...ratios), Math.max(...ratios)]
    const sizes = cost === undefined ? ['', ''] : [cost.events.toFixed(2), cost.bytes.toFixed(0)]
    return [name, NAMES[side], ...[...relations, clock, processor].map(inShort), ...sizes]
  })
}

function inShort(value: number | string): string {
  return typeof value === 'string' ? value : value.toFixed(2)
}
