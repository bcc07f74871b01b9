import { seededRandom } from '../../test/support/seeded-random.js'
import type { SeededRandom } from '../../test/support/seeded-random.js'
import type { DeskVersion } from '../desk/chaos-prompts.js'

/** Worker processes at a time. */
export const WORKERS = 3

/** Who has a network of its own. */
export type Holder =
  | { readonly kind: 'worker'; readonly slot: number }
  | { readonly kind: 'client' }
  | { readonly kind: 'api' }

/** What a connection leads to; only the client has one to the API. */
export type Target = 'store' | 'temporal' | 'api'

export function nameOf(holder: Holder): string {
  return holder.kind === 'worker' ? `worker ${holder.slot}` : holder.kind
}

export type Disturbance =
  /** kill -9; another process takes its place `away` milliseconds later. */
  | ({ readonly kind: 'kill_worker'; readonly slot: number; readonly version: DeskVersion } & Life)
  | ({ readonly kind: 'kill_client' } & Life)
  | ({ readonly kind: 'kill_api' } & Life)
  | { readonly kind: 'kill_server'; readonly server: ServerName; readonly away: number }
  /** SIGTERM: a deploy. */
  | { readonly kind: 'deploy'; readonly slot: number; readonly version: DeskVersion }
  | {
      readonly kind: 'network'
      readonly of: Holder
      readonly to: Target
      readonly how: 'cut' | 'delay' | 'stall'
      readonly milliseconds: number
    }

interface Life {
  readonly away: number
  /** Milliseconds that it has worked at least; null: it may be in its start. */
  readonly lived: number | null
}

export type ServerName = 'temporal' | 'postgres' | 'temporal_postgres'

export interface Moment {
  /** Milliseconds after the one before. */
  readonly after: number
  readonly what: Disturbance
}

interface Scheduling {
  readonly seed: number
  readonly kills: number
  readonly servers: readonly ServerName[]
  /** Milliseconds from one to the next at least; what happens is the same whatever they are. */
  readonly rest: number
}

const LONGEST_GAP = 1_600
const LONGEST_ABSENCE = 1_500
/** A process that a busy machine starts slowly is let work before it is killed, or nothing would ever be done. */
const LONGEST_LIFE = 2_500
/** Of a delay for each piece of bytes. */
const LONGEST_LATENESS = 60
/** Of a bad network: longer than the short heartbeat timeout now and then, so that a worker is given up that lives. */
const LONGEST_BAD_NETWORK = 8_000

/** What happens, and when, in the order of the seed; it holds that many kills. */
export function schedule({ seed, kills, servers, rest }: Scheduling): readonly Moment[] {
  const random = seededRandom(seed ^ 0x5eed)
  const moments: Moment[] = []
  for (let killed = 0; killed < kills;) {
    const what = random.chance(0.75) ? kill(random, servers) : trouble(random)
    if (what.kind.startsWith('kill')) killed += 1
    moments.push({ after: rest + 200 + random.below(LONGEST_GAP), what })
  }
  return moments
}

function kill(random: SeededRandom, servers: readonly ServerName[]): Disturbance {
  const away = random.below(LONGEST_ABSENCE)
  const choice = random.next()
  const lived = random.chance(0.1) ? null : random.below(LONGEST_LIFE)
  if (choice < 0.5)
    return { kind: 'kill_worker', slot: random.below(WORKERS), away, lived, version: version(random) }
  if (choice < 0.63) return { kind: 'kill_client', away, lived }
  if (choice < 0.77) return { kind: 'kill_api', away, lived }
  return { kind: 'kill_server', server: random.pick(servers), away }
}

function trouble(random: SeededRandom): Disturbance {
  const slot = random.below(WORKERS)
  if (random.chance(0.3)) return { kind: 'deploy', slot, version: version(random) }
  const of: Holder = random.chance(0.65)
    ? { kind: 'worker', slot }
    : { kind: random.pick(['client', 'api'] as const) }
  const targets = ['store', 'temporal', ...(of.kind === 'client' ? (['api'] as const) : [])] as const
  const how = random.pick(['cut', 'cut', 'delay', 'stall'] as const)
  const milliseconds = 200 + random.below(LONGEST_BAD_NETWORK)
  return { kind: 'network', of, to: random.pick(targets), how, milliseconds }
}

function version(random: SeededRandom): DeskVersion {
  return random.pick(['old', 'new'] as const)
}

/** How late each piece of bytes is on a delayed connection. */
export function lateness(milliseconds: number): number {
  return 5 + (milliseconds % LONGEST_LATENESS)
}
