import type { BenchResult, Figure } from '../figure.js'
import { median } from '../median.js'
import type { Measured, Pair, measurePairs } from './measure-pairs.js'

const HEAD = [
  ...['conversation', 'ratio', 'lowest', 'highest', 'ms a step', 'bare ms', 'CPU ms', 'bare CPU ms'],
  ...['events a step', 'bytes a step'],
]

/** Medians over the pairs of each conversation. */
interface Summary {
  readonly name: string
  readonly ratio: number
  readonly ratios: readonly number[]
  readonly thread: number
  readonly bare: number
  readonly threadProcessor: number
  readonly bareProcessor: number
  readonly events: number
  readonly bytes: number
}

export function stepReport({ measured, steps }: Awaited<ReturnType<typeof measurePairs>>): BenchResult {
  const summaries = measured.map(summarize)
  return {
    figures: figuresOf(summaries, steps),
    table: [HEAD, ...summaries.map(lineOf)],
    notes: [
      `Medians of ${measured[0]?.pairs.length ?? 0} pairs for each conversation; lowest and highest are single pairs.`,
      'How each figure is made: bench/README.md',
    ],
  }
}

function summarize({ conversation, pairs }: Measured): Summary {
  const middle = (value: (pair: Pair) => number): number => median(pairs.map(value))
  const ratios = pairs.map(({ thread, bare }) => thread.clock / bare.clock)
  return {
    name: conversation.name,
    ratio: median(ratios),
    ratios,
    thread: middle(({ thread }) => thread.clock),
    bare: middle(({ bare }) => bare.clock),
    threadProcessor: middle(({ thread }) => thread.processor),
    bareProcessor: middle(({ bare }) => bare.processor),
    events: middle(({ cost }) => cost.events),
    bytes: middle(({ cost }) => cost.bytes),
  }
}

function figuresOf(summaries: readonly Summary[], steps: number): readonly Figure[] {
  const small = summaries[0]
  const large = summaries.at(-1)
  if (small === undefined || large === undefined) throw new Error('Expected at least one conversation.')
  const figure = (name: string, value: number, unit: string): Figure => ({
    bench: 'step',
    figure: name,
    value,
    unit,
  })
  return [
    figure('ratio', small.ratio, 'x'),
    figure('ratio_large', large.ratio, 'x'),
    figure('ms_per_step', small.thread, 'ms'),
    figure('bare_ms_per_step', small.bare, 'ms'),
    figure('events_per_step', small.events, 'events'),
    figure('history_bytes_per_step', small.bytes, 'bytes'),
    figure('history_bytes_ratio_large_to_small', large.bytes / small.bytes, 'x'),
    figure('steps_done', steps, 'steps'),
  ]
}

function lineOf(summary: Summary): readonly string[] {
  const { name, ratio, ratios, thread, bare, threadProcessor, bareProcessor, events, bytes } = summary
  const times = [
    ratio,
    Math.min(...ratios),
    Math.max(...ratios),
    thread,
    bare,
    threadProcessor,
    bareProcessor,
  ]
  return [name, ...[...times, events].map((value) => value.toFixed(2)), bytes.toFixed(0)]
}
