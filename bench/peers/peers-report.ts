import type { BenchResult, Figure } from '../figure.js'
import { median } from '../median.js'
import type { MeasuredPeers, PeerTurn } from './measure-peers.js'
import { PEERS } from './peer-orders.js'
import type { PeerName } from './peer-orders.js'

const HEAD = [
  'peer',
  'conversation',
  'calls',
  'done',
  'history MB',
  'events',
  'ms / step',
  'step 40',
  'end',
] as const
const MB = 1_000_000
/** Steps 36 to 44. */
const AROUND_40 = [35, 44] as const
/** The conversations of the long turns, by what their figures have at their end. */
const LARGE = { '042': '0.42 MB', '081': '0.81 MB' } as const

export function peersReport(measured: MeasuredPeers, versions: string): BenchResult {
  const { turns } = measured
  return {
    figures: PEERS.flatMap((peer) => figuresOf(peer, measured)),
    table: [HEAD, ...turns.map(lineOf)],
    notes: [
      `Peers: ${versions}. ms / step: median of all steps; step 40: of steps 36 to 44.`,
      'How each figure is made: bench/README.md',
    ],
  }
}

function figuresOf(peer: PeerName, { turns, bundleBytes, starts }: MeasuredPeers): readonly Figure[] {
  const middle = (conversation: string, value: (turn: PeerTurn) => number): number =>
    median(turns.filter((turn) => turn.peer === peer && turn.conversation.name === conversation).map(value))
  const figure = (name: string, value: number, unit: string): Figure => ({
    bench: 'peers',
    figure: `${peer}_${name}`,
    value,
    unit,
  })
  return [
    ...Object.entries(LARGE).flatMap(([suffix, conversation]) => [
      figure(
        `calls_done_${suffix}`,
        middle(conversation, ({ done }) => done),
        'calls',
      ),
      figure(
        `history_bytes_${suffix}`,
        middle(conversation, ({ end }) => end.bytes),
        'bytes',
      ),
      figure(`ms_per_step_40_${suffix}`, middle(conversation, msAround40), 'ms'),
    ]),
    figure(
      'ms_per_step_1kb',
      middle('1 KB', ({ steps }) => median(steps)),
      'ms',
    ),
    figure(
      'history_bytes_per_step_1kb',
      middle('1 KB', ({ bytesPerStep }) => bytesPerStep ?? 0),
      'bytes',
    ),
    figure('worker_start_ms', median(starts[peer]), 'ms'),
    figure('bundle_bytes', bundleBytes[peer], 'bytes'),
  ]
}

function msAround40({ steps }: Pick<PeerTurn, 'steps'>): number {
  return median(steps.slice(...AROUND_40))
}

function lineOf({ peer, conversation, calls, done, end, steps }: PeerTurn): readonly string[] {
  return [
    peer,
    conversation.name,
    String(calls),
    String(done),
    (end.bytes / MB).toFixed(2),
    String(end.events),
    median(steps).toFixed(1),
    steps.length < AROUND_40[1] ? '-' : msAround40({ steps }).toFixed(1),
    end.reason === undefined ? 'completed' : `terminated: ${end.reason}`,
  ]
}
