import { parseArgs } from 'node:util'

import type { ServersKind } from './driver/chaos-servers.js'

/** What the command line asks for. */
export interface ChaosOptions {
  readonly kills: number
  readonly seed: number
  readonly servers: ServersKind
  /** Milliseconds; null is the default of threads. */
  readonly heartbeatTimeout: number | null
  readonly json: boolean
  /** Threads at a time. */
  readonly lanes: number
  /** Milliseconds that pass between two disturbances at least. */
  readonly rest: number
  /** Milliseconds behind the last kill without a new event in any thread, then what has not come to an end is stuck. */
  readonly patience: number
  /** Whether `everthread doctor` is asked a minute later, when it passes over nothing as too fresh. */
  readonly wait: boolean
  /** Tag or commit whose package the old workers run; null: the present one. */
  readonly old: string | null
  /** Folder that gets a file with what the run gave; null: none does. */
  readonly results: string | null
  /** As it was given. */
  readonly line: readonly string[]
}

export const USAGE =
  'npm run chaos -- --kills N --seed S [--servers dev|postgres] [--heartbeat default|5s] [--lanes N] [--rest SECONDS] [--patience SECONDS] [--no-wait] [--old REF] [--results FOLDER] [--json]'

const HEARTBEATS: ReadonlyMap<string, number | null> = new Map([
  ['default', null],
  ['5s', 5_000],
])

/** Null: it cannot be understood. */
export function readOptions(line: readonly string[]): ChaosOptions | null {
  try {
    const { values } = parseArgs({
      args: [...line],
      options: {
        kills: { type: 'string' },
        seed: { type: 'string' },
        servers: { type: 'string', default: 'dev' },
        heartbeat: { type: 'string', default: 'default' },
        lanes: { type: 'string', default: '16' },
        rest: { type: 'string', default: '0' },
        patience: { type: 'string', default: '240' },
        'no-wait': { type: 'boolean', default: false },
        old: { type: 'string' },
        results: { type: 'string' },
        json: { type: 'boolean', default: false },
      },
    })
    const numbers = [values.kills, values.seed, values.lanes, values.patience].map(Number)
    const [kills, seed, lanes, patience] = numbers
    const rest = Number(values.rest) * 1000
    const heartbeatTimeout = HEARTBEATS.get(values.heartbeat)
    if (
      !isCount(kills) ||
      !isCount(seed) ||
      !isCount(lanes) ||
      !isCount(patience) ||
      !(rest >= 0) ||
      heartbeatTimeout === undefined
    )
      return null
    if (values.servers !== 'dev' && values.servers !== 'postgres') return null
    const { servers, json } = values
    const wait = !values['no-wait']
    const results = values.results ?? null
    const old = values.old ?? null
    const common = { kills, seed, lanes, rest, heartbeatTimeout, json, wait, old, results, line }
    return { ...common, servers, patience: patience * 1000 }
  } catch {
    return null
  }
}

function isCount(value: number | undefined): value is number {
  return value !== undefined && Number.isInteger(value) && value > 0
}
