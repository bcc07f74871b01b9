import type { BenchResult, Figure } from '../figure.js'
import { median } from '../median.js'
import { peerVersions } from '../peers/peer-versions.js'
import { NODE_OPTIONS_NOTE } from '../processes/worker-node-options.js'
import { SECONDS, SIDES, TOOLS, TURNS } from './measure-slow-models.js'
import type { MeasuredSlowModels, Round, SideName } from './measure-slow-models.js'

const HEAD = [
  'loop',
  'turns',
  'server CPU ms',
  'lowest',
  'highest',
  'worker CPU ms',
  'lowest',
  'highest',
  's',
]

export function slowModelsReport({ rounds, idle }: MeasuredSlowModels): BenchResult {
  const middle = (side: SideName, value: (round: Round) => number): number => median(rounds[side].map(value))
  const figure = (name: string, value: number, unit: string): Figure => ({
    bench: 'slow-models',
    figure: name,
    value,
    unit,
  })
  const server = (side: SideName): number => middle(side, (round) => round.server)
  const worker = (side: SideName): number => middle(side, (round) => round.worker)
  return {
    figures: [
      figure('server_ms_per_turn', server('thread'), 'ms'),
      figure('worker_ms_per_turn', worker('thread'), 'ms'),
      figure('ai_sdk_server_ms_per_turn', server('ai_sdk'), 'ms'),
      figure('ai_sdk_worker_ms_per_turn', worker('ai_sdk'), 'ms'),
      figure('server_ratio', server('thread') / server('ai_sdk'), 'x'),
      figure('worker_ratio', worker('thread') / worker('ai_sdk'), 'x'),
    ],
    table: [HEAD, ...SIDES.map((side) => lineOf(side, rounds[side]))],
    notes: [
      `Peer: ${peerVersions()}.`,
      `Medians of ${rounds.thread.length} rounds of ${TURNS} turns of ${TOOLS} tools with models of ${SECONDS} s that all wait at the same time.`,
      'CPU ms: processor time of the Temporal server’s process and of the worker’s for a turn; s: from the first start to the last end.',
      `A server without work takes ${idle.toFixed(0)} ms a second, which is in its figures of both.`,
      NODE_OPTIONS_NOTE,
      'How each figure is made: bench/README.md',
    ],
  }
}

function lineOf(side: SideName, rounds: readonly Round[]): readonly string[] {
  const cells = (values: readonly number[]): readonly string[] =>
    [median(values), Math.min(...values), Math.max(...values)].map((value) => value.toFixed(1))
  return [
    ...[side, String(TURNS)],
    ...cells(rounds.map(({ server }) => server)),
    ...cells(rounds.map(({ worker }) => worker)),
    median(rounds.map(({ seconds }) => seconds)).toFixed(0),
  ]
}
