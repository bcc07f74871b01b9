import type { BenchResult, Figure } from '../figure.js'
import type { LongTurn } from './measure-turn.js'

const HEAD = [
  'conversation',
  'calls',
  'done',
  'history KB',
  'events',
  'KB / step',
  'continued as new',
  'ms / step at the start',
  'at the end',
  'stored MB: database',
  'blobs',
  'history',
  "Temporal's growth",
] as const
const KB = 1_000
const MB = 1_000_000

export function longTurnReport(turns: readonly LongTurn[]): BenchResult {
  return {
    figures: figuresOf(turns),
    table: [HEAD, ...turns.map(lineOf)],
    notes: [
      'Tool results of 5 KB. Stored: of the whole thread with its conversation; history is by the count of the server.',
      'How each figure is made: bench/README.md',
    ],
  }
}

function figuresOf(turns: readonly LongTurn[]): readonly Figure[] {
  const of = (calls: number, conversation: string): LongTurn => {
    const turn = turns.find((one) => one.calls === calls && one.conversation.name === conversation)
    if (turn === undefined) throw new Error(`Expected a turn of ${calls} calls on ${conversation}.`)
    return turn
  }
  const [small, middle, large] = [of(100, '4 KB'), of(100, '0.42 MB'), of(100, '0.81 MB')]
  const longest = of(1_000, '0.81 MB')
  const figure = (name: string, value: number, unit: string): Figure => ({
    bench: 'long-turn',
    figure: name,
    value,
    unit,
  })
  return [
    figure('calls_done_100', large.done, 'calls'),
    figure('calls_done_1000', longest.done, 'calls'),
    figure('history_bytes_100_calls', large.history.bytes, 'bytes'),
    figure('history_ratio_large_to_small_100', large.history.bytes / small.history.bytes, 'x'),
    figure('history_bytes_per_step_1000', longest.history.bytes / longest.calls, 'bytes'),
    figure('continued_as_new_1000', longest.history.continuedAsNew, 'times'),
    figure('stored_bytes_100_calls', storedBytes(middle), 'bytes'),
    figure('last_to_first_step_ratio_1000', longest.last / longest.first, 'x'),
  ]
}

/** What the databases of Temporal grew by is not the thread's alone, and unknown on the dev server. */
function storedBytes({ stored }: LongTurn): number {
  return stored.database + stored.blobs + stored.history
}

function lineOf({ conversation, calls, done, history, first, last, stored }: LongTurn): readonly string[] {
  const { database, blobs, temporal } = stored
  return [
    conversation.name,
    String(calls),
    String(done),
    (history.bytes / KB).toFixed(1),
    String(history.events),
    (history.bytes / KB / calls).toFixed(2),
    String(history.continuedAsNew),
    first.toFixed(2),
    last.toFixed(2),
    ...[database, blobs, stored.history].map((bytes) => (bytes / MB).toFixed(2)),
    temporal === undefined ? '-' : (temporal / MB).toFixed(2),
  ]
}
