import type { BenchResult, Figure } from '../figure.js'
import { median } from '../median.js'
import { NODE_OPTIONS_NOTE } from '../processes/worker-node-options.js'
import { SIDES, STEPS_AHEAD } from '../sides.js'
import type { Side } from '../sides.js'
import type { MeasuredCrowd, Work } from './measure-crowd.js'

const HEAD = ['at once', 'loop', 'ratio', 'lowest', 'highest', 'steps/s', 'CPU ms a step', 'MB', 'heap MB']
const NAMES = { thread: 'threads', ahead: 'run ahead', bare: 'bare' } as const
const MB = 2 ** 20

/** Medians over the rounds of one size; ratios are to the bare loops of the same round. */
interface Summary {
  readonly ratios: readonly number[]
  readonly rate: number
  readonly processor: number
  /** The largest of all rounds. */
  readonly resident: number
  readonly heap: number
}

interface Summaries {
  readonly loops: number
  readonly of: (side: Side) => Summary
}

export function manyReport(measured: readonly MeasuredCrowd[]): BenchResult {
  const summaries = measured.map(summarize)
  return {
    figures: summaries.flatMap(figuresOf),
    table: [HEAD, ...summaries.flatMap(linesOf)],
    notes: [
      `Medians of ${measured[0]?.rounds.length ?? 0} rounds of each size; lowest and highest are single rounds.`,
      `Run ahead: one activity does ${STEPS_AHEAD} steps. Ratios are to the bare loops of the same round.`,
      'CPU ms: processor time of the worker process for a step; MB: its largest resident memory; heap: of its main thread.',
      `Eager activities are ${process.env['EVERTHREAD_BENCH_EAGER'] === '1' ? 'on' : 'off'} for all (EVERTHREAD_BENCH_EAGER).`,
      NODE_OPTIONS_NOTE,
      'How each figure is made: bench/README.md',
    ],
  }
}

function summarize({ crowd: { loops }, rounds, heap }: MeasuredCrowd): Summaries {
  const of = (side: Side): Summary => {
    const all = (value: (work: Work) => number): number[] => rounds.map((round) => value(round[side]))
    return {
      ratios: rounds.map((round) => round[side].stepsPerSecond / round.bare.stepsPerSecond),
      rate: median(all(({ stepsPerSecond }) => stepsPerSecond)),
      processor: median(all(({ processor }) => processor)),
      resident: Math.max(...all(({ resident }) => resident / MB)),
      heap: heap[side] / MB,
    }
  }
  return { loops, of }
}

function figuresOf({ loops, of }: Summaries): readonly Figure[] {
  const bare = of('bare')
  const figure = (name: string, value: number, unit: string): Figure => ({
    bench: 'many',
    figure: `${name}_${loops}`,
    value,
    unit,
  })
  const ofSide = (prefix: string, { ratios, rate, resident }: Summary): readonly Figure[] => [
    figure(`${prefix}throughput_ratio`, median(ratios), 'x'),
    figure(`${prefix}steps_per_second`, rate, 'steps/s'),
    figure(`${prefix}memory_ratio`, resident / bare.resident, 'x'),
    figure(`${prefix}memory`, resident, 'MB'),
  ]
  return [
    ...ofSide('', of('thread')),
    ...ofSide('run_ahead_', of('ahead')),
    figure('bare_steps_per_second', bare.rate, 'steps/s'),
    figure('bare_memory', bare.resident, 'MB'),
  ]
}

function linesOf({ loops, of }: Summaries): readonly (readonly string[])[] {
  return SIDES.map((side) => {
    const { ratios, rate, processor, resident, heap } = of(side)
    const relations = [median(ratios), Math.min(...ratios), Math.max(...ratios)]
    return [
      ...[String(loops), NAMES[side]],
      ...relations.map((value) => (side === 'bare' ? '' : value.toFixed(2))),
      ...[rate.toFixed(0), processor.toFixed(2), resident.toFixed(0), heap.toFixed(0)],
    ]
  })
}
