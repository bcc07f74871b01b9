import type { BenchResult, Figure } from '../figure.js'
import { THREAD_LOOPS } from './cells.js'
import type { MeasuredCell } from './measure-cell.js'
import { countOf, KINDS, otherTypes, totalOf } from './server-actions.js'
import type { Kind } from './server-actions.js'

/** Of Temporal Cloud, at the rate without a discount. */
const DOLLARS_PER_MILLION_ACTIONS = 50
const KB = 1000
const COLUMNS = Object.keys(KINDS) as readonly Kind[]
const HEAD = [
  ...['loop', 'tools', 'model s', 'turns', 'tools done', 'actions', ...COLUMNS, 'other'],
  ...['events', 'KB', '$ / million turns', 'end'],
]

export function costReport(measured: readonly MeasuredCell[], versions: string): BenchResult {
  const others = [...new Set(measured.flatMap(({ actions }) => otherTypes(actions)))]
  return {
    figures: [
      ...measured.flatMap(figuresOf),
      ...Object.keys(THREAD_LOOPS).flatMap((loop) =>
        heartbeatsOf(measured.filter(({ cell }) => cell.loop === loop)),
      ),
    ],
    table: [HEAD, ...measured.map(lineOf)],
    notes: [
      `Peers: ${versions}. All numbers but tools are for one turn; the thread of several turns is divided by them.`,
      `$: at ${DOLLARS_PER_MILLION_ACTIONS} a million actions. Storage is not in it.`,
      'Actions: the server’s counter `action` of a namespace for each line, from the start of the thread or workflow until nothing ' +
        'more comes. It has each heartbeat that arrives, not those that the SDK holds back, which cost nothing.',
      'Billed and not in the counter: heartbeats of workflow tasks, which only long local activities have; no loop here has any.',
      ...(others.length === 0 ? [] : [`other: ${others.join(', ')}`]),
      `run_ahead: one activity does ${THREAD_LOOPS.run_ahead} steps; run_ahead_20: ${THREAD_LOOPS.run_ahead_20}.`,
      'How each figure is made: bench/README.md',
    ],
  }
}

function figuresOf({ cell, actions, events, bytes }: MeasuredCell): readonly Figure[] {
  const { loop, tools, seconds, turns } = cell
  const figure = (name: string, value: number, unit: string): Figure => ({
    bench: 'cost',
    figure: `${prefixOf(loop)}${name}_${tools}_tools_${seconds}s`,
    value: value / turns,
    unit,
  })
  return [
    figure('actions', totalOf(actions), 'actions'),
    figure('events', events, 'events'),
    figure('bytes', bytes, 'bytes'),
  ]
}

/** Those of usual threads bear no name, as in the other benches. */
function prefixOf(loop: string): string {
  return loop === 'thread' ? '' : `${loop}_`
}

/** Of one model call, over all turns of a loop whose models take that long. */
function heartbeatsOf(ours: readonly MeasuredCell[]): readonly Figure[] {
  const times = [...new Set(ours.map(({ cell }) => cell.seconds))].filter((seconds) => seconds > 0)
  return times.map((seconds) => {
    const cells = ours.filter(({ cell }) => cell.seconds === seconds)
    const heartbeats = cells.reduce((sum, { actions }) => sum + countOf(actions, 'heartbeats'), 0)
    const calls = cells.reduce((sum, { modelCalls }) => sum + modelCalls, 0)
    return {
      bench: 'cost',
      figure: `${prefixOf(ours[0]?.cell.loop ?? '')}heartbeats_${seconds}s`,
      value: heartbeats / calls,
      unit: 'a model call',
    }
  })
}

function lineOf({ cell, actions, events, bytes, done, end }: MeasuredCell): readonly string[] {
  const { loop, tools, seconds, turns } = cell
  const aTurn = (value: number): string => {
    const one = value / turns
    return Number.isInteger(one) ? String(one) : one.toFixed(1)
  }
  const total = totalOf(actions)
  const known = COLUMNS.map((kind) => countOf(actions, kind))
  const other = total - known.reduce((sum, value) => sum + value, 0)
  return [
    ...[loop, String(tools), String(seconds), String(turns)],
    ...[done, total, ...known, other, events].map(aTurn),
    (bytes / turns / KB).toFixed(1),
    ((total / turns) * DOLLARS_PER_MILLION_ACTIONS).toFixed(0),
    end,
  ]
}
