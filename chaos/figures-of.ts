import { percentile } from './driver/recoveries.js'
import type { Recovery } from './driver/recoveries.js'
import type { Finding } from './finding.js'
import type { ChaosOptions } from './options.js'
import type { ChaosResult } from './run-chaos.js'

export interface Figure {
  readonly bench: 'chaos'
  readonly figure: string
  readonly value: number
  readonly unit: string
}

/** Names and meaning: README. */
export function figuresOf(result: ChaosResult, options: ChaosOptions): readonly Figure[] {
  const { kills, counts, recoveries, findings, seconds } = result
  const figure = (name: string, value: number, unit: string): Figure => ({
    bench: 'chaos',
    figure: name,
    value: Math.round(value * 10) / 10,
    unit,
  })
  const heartbeat = options.heartbeatTimeout === null ? 'default' : '5s'
  const sinceFirst = recoveries.map((recovery) => recovery.sinceFirst)
  const count = (kind: Finding['kind']): number => findings.filter((finding) => finding.kind === kind).length
  return [
    figure('seed', options.seed, options.servers),
    figure(
      'kills',
      Object.values(kills).reduce((sum, of) => sum + of, 0),
      'processes',
    ),
    ...Object.entries(kills).map(([name, of]) => figure(`kills_of_${name}`, of, 'processes')),
    figure('lost', count('lost'), 'messages and outcomes'),
    figure('doubled', count('doubled'), 'messages and events'),
    figure('repeated', count('repeated'), 'calls'),
    figure('stuck', count('stuck'), 'threads'),
    figure('wrong', count('wrong'), 'other findings'),
    figure(`recovery_${heartbeat}_p99_ms`, worst(recoveries), 'ms'),
    ...namesOf(recoveries).flatMap((name) => {
      const times = timesOf(recoveries, name)
      return [
        figure(`recovery_${heartbeat}_${name}_p50_ms`, percentile(times, 0.5), 'ms'),
        figure(`recovery_${heartbeat}_${name}_p99_ms`, percentile(times, 0.99), 'ms'),
        figure(`recovery_${heartbeat}_${name}_max_ms`, percentile(times, 1), 'ms'),
        figure(`cut_by_${name}`, times.length, 'activities'),
      ]
    }),
    figure('cut_again', recoveries.filter(({ cuts }) => cuts > 1).length, 'activities'),
    figure(`recovery_${heartbeat}_since_first_kill_p99_ms`, percentile(sinceFirst, 0.99), 'ms'),
    figure(`recovery_${heartbeat}_since_first_kill_max_ms`, percentile(sinceFirst, 1), 'ms'),
    ...Object.entries(counts).map(([name, value]) => figure(name, value, 'in all')),
    figure('seconds', seconds, 's'),
  ]
}

/** The figure is that of the kind of process whose kills are slowest to recover from: quick ones hide no slow one. */
function worst(recoveries: readonly Recovery[]): number {
  return Math.max(0, ...namesOf(recoveries).map((name) => percentile(timesOf(recoveries, name), 0.99)))
}

function namesOf(recoveries: readonly Recovery[]): readonly string[] {
  return [...new Set(recoveries.map(({ killed }) => killed))].toSorted()
}

function timesOf(recoveries: readonly Recovery[], name: string): readonly number[] {
  return recoveries.flatMap(({ killed, milliseconds }) => (killed === name ? [milliseconds] : []))
}
