import type { BenchResult, Figure } from '../figure.js'
import { median } from '../median.js'
import { NODE_OPTIONS_NOTE } from '../processes/worker-node-options.js'
import type { MeasuredCrowd, Pair } from './measure-crowd.js'

const HEAD = [
  ...['at once', 'ratio', 'lowest', 'highest', 'steps/s', 'bare steps/s', 'CPU ms a step', 'bare CPU ms'],
  ...['MB', 'bare MB', 'heap MB', 'bare heap MB'],
]
const MB = 2 ** 20

interface Summary {
  readonly loops: number
  readonly ratios: readonly number[]
  readonly rate: readonly [number, number]
  readonly processor: readonly [number, number]
  readonly resident: readonly [number, number]
  readonly heap: readonly [number, number]
}

/** Medians of the pairs of each size; memory is the largest of all its rounds. */
export function manyReport(measured: readonly MeasuredCrowd[]): BenchResult {
  const summaries = measured.map(summarize)
  return {
    figures: summaries.flatMap(figuresOf),
    table: [HEAD, ...summaries.map(lineOf)],
    notes: [
      `Medians of ${measured[0]?.pairs.length ?? 0} pairs of each size; lowest and highest are single pairs.`,
      'CPU ms: processor time of the worker process for a step; MB: its largest resident memory; heap: of its main thread.',
      `Eager activities are ${process.env['EVERTHREAD_BENCH_EAGER'] === '1' ? 'on' : 'off'} for both (EVERTHREAD_BENCH_EAGER).`,
      NODE_OPTIONS_NOTE,
      'How each figure is made: bench/README.md',
    ],
  }
}

function summarize({ crowd: { loops }, pairs, heap }: MeasuredCrowd): Summary {
  const both = (value: (pair: Pair, side: keyof Pair) => number, of: (values: number[]) => number) =>
    [of(pairs.map((pair) => value(pair, 'threads'))), of(pairs.map((pair) => value(pair, 'bare')))] as const
  const largest = (values: number[]): number => Math.max(...values)
  return {
    loops,
    ratios: pairs.map(({ threads, bare }) => threads.stepsPerSecond / bare.stepsPerSecond),
    rate: both((pair, side) => pair[side].stepsPerSecond, median),
    processor: both((pair, side) => pair[side].processor, median),
    resident: both((pair, side) => pair[side].resident / MB, largest),
    heap: [heap.threads / MB, heap.bare / MB],
  }
}

function figuresOf({ loops, ratios, rate, resident }: Summary): readonly Figure[] {
  const figure = (name: string, value: number, unit: string): Figure => ({
    bench: 'many',
    figure: `${name}_${loops}`,
    value,
    unit,
  })
  return [
    figure('throughput_ratio', median(ratios), 'x'),
    figure('steps_per_second', rate[0], 'steps/s'),
    figure('bare_steps_per_second', rate[1], 'steps/s'),
    figure('memory_ratio', resident[0] / resident[1], 'x'),
    figure('memory', resident[0], 'MB'),
    figure('bare_memory', resident[1], 'MB'),
  ]
}

function lineOf({ loops, ratios, rate, processor, resident, heap }: Summary): readonly string[] {
  const parts = [
    ...[median(ratios), Math.min(...ratios), Math.max(...ratios)].map((value) => value.toFixed(2)),
    ...rate.map((value) => value.toFixed(0)),
    ...processor.map((value) => value.toFixed(2)),
    ...[...resident, ...heap].map((value) => value.toFixed(0)),
  ]
  return [String(loops), ...parts]
}
