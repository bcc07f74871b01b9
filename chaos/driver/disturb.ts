import { setTimeout as delay } from 'node:timers/promises'

import { now } from '../desk/journal.js'
import type { ActivitiesInFlight } from './activities-in-flight.js'
import type { ChaosServers } from './chaos-servers.js'
import type { Fleet } from './fleet.js'
import type { Recoveries } from './recoveries.js'
import type { RestartingSlot } from './restarting-slot.js'
import { lateness, nameOf } from './schedule.js'
import type { Disturbance, Moment, ServerName } from './schedule.js'
import type { Timeline } from './timeline.js'
import type { TakenBy } from './taken-by.js'
import type { EventWatch } from './watch-events.js'
import type { Watchdog } from './watchdog.js'

/** What is disturbed, and who is told of it. */
export interface Disturbed {
  readonly fleet: Fleet
  readonly servers: ChaosServers
  readonly inFlight: ActivitiesInFlight
  readonly recoveries: Recoveries
  readonly takenBy: TakenBy
  readonly watch: EventWatch
  readonly timeline: Timeline
  readonly say: (line: string) => void
  readonly watchdog: Watchdog
}

/** Does to the processes what the schedule says, in its order; answers how many kills there were, by what was killed. */
export async function disturb(
  place: Disturbed,
  moments: readonly Moment[],
): Promise<Readonly<Record<string, number>>> {
  const kills: Record<string, number> = {}
  /** What is under way: a server that is away cannot be killed again before it is back. */
  const busy = new Map<string, Promise<void>>()
  for (const [index, { after, what }] of moments.entries()) {
    await delay(after)
    const name = subjectOf(what)
    const detail = `${index + 1} of ${moments.length}: ${what.kind}, ${name}`
    place.watchdog.begin('disturb', { detail })
    await busy.get(name)
    await hasLived(place, what)
    const begun = begin(place, what)
    if (await begun.killed) {
      const killed = name.replace(/ \d+$/, '')
      kills[killed] = (kills[killed] ?? 0) + 1
    }
    // Whoever comes next to it, or the end, hears of a failure; until then it is no unheard one.
    const over = begun.over.then(() => place.timeline.note(`over: ${detail}`))
    over.catch(() => undefined)
    busy.set(name, over)
  }
  place.watchdog.begin('disturb', { detail: `until all are back: ${[...busy.keys()].join(', ')}` })
  await Promise.all(busy.values())
  return kills
}

async function hasLived({ fleet }: Disturbed, what: Disturbance): Promise<void> {
  switch (what.kind) {
    case 'kill_worker':
      return fleet.worker(what.slot).lived(what.lived)
    case 'kill_client':
      return fleet.client.lived(what.lived)
    case 'kill_api':
      return fleet.api.lived(what.lived)
    default:
  }
}

interface Begun {
  /** Whether a living process was: what died by itself a moment before is no kill. */
  readonly killed: Promise<boolean>
  /** It is as before. */
  readonly over: Promise<void>
}

function subjectOf(what: Disturbance): string {
  switch (what.kind) {
    case 'kill_worker':
    case 'deploy':
      return `worker ${what.slot}`
    case 'kill_client':
      return 'client'
    case 'kill_api':
      return 'api'
    case 'kill_server':
      return what.server
    case 'network':
      return `network of ${nameOf(what.of)} to ${what.to}`
  }
}

function begin(place: Disturbed, what: Disturbance): Begun {
  const said = JSON.stringify({ at: now(), ...what })
  place.say(said)
  place.timeline.note(said)
  switch (what.kind) {
    case 'kill_worker':
      return killWorker(place, what)
    case 'kill_client':
      return killIdle(place.fleet.client, what.away)
    case 'kill_api':
      return killIdle(place.fleet.api, what.away)
    case 'kill_server':
      return killServer(place, what)
    case 'deploy':
      return { killed: Promise.resolve(false), over: place.fleet.worker(what.slot).deploy(what.version) }
    case 'network':
      return { killed: Promise.resolve(false), over: spoil(place, what) }
  }
}

type Of<Kind extends Disturbance['kind']> = Extract<Disturbance, { readonly kind: Kind }>

/** Threads go on without it: no recovery is measured. */
function killIdle(slot: Pick<RestartingSlot, 'kill' | 'start'>, away: number): Begun {
  const killed = slot.kill()
  return { killed, over: killed.then(() => delay(away)).then(() => slot.start()) }
}

function killWorker(
  { fleet, watch, recoveries, takenBy }: Disturbed,
  { slot, away, version }: Of<'kill_worker'>,
): Begun {
  const at = now()
  const worker = fleet.worker(slot)
  const killed = worker.kill().then(async (cut) => {
    if (cut === null) return false
    // What it committed before its end is no progress after it.
    await watch.catchUp()
    recoveries.cut('worker', cut.threadIds, at)
    const others = recoveries.open().filter((threadId) => !cut.threadIds.includes(threadId))
    recoveries.cut('worker', await takenBy(cut.pid, others), at)
    return true
  })
  const over = killed.then(() => delay(away)).then(() => worker.start(version))
  return { killed, over }
}

function killServer(
  { servers, inFlight, recoveries }: Disturbed,
  { server: name, away }: Of<'kill_server'>,
): Begun {
  const server = serverOf(servers, name)
  const at = now()
  const killed = server.kill().then(() => {
    // What ended while it died may have nothing to recover from: its thread may have nothing more to do for minutes.
    recoveries.cut(name, inFlight.all(), at)
    return true
  })
  const over = killed.then(() => delay(away)).then(() => server.restart())
  return { killed, over }
}

function serverOf(servers: ChaosServers, name: ServerName) {
  const server = servers.byName.get(name)
  if (server === undefined) throw new Error(`Expected a server of this run, got ${name}.`)
  return server
}

async function spoil({ fleet }: Disturbed, { of, to, how, milliseconds }: Of<'network'>): Promise<void> {
  const proxy = fleet.proxy(of, to)
  if (how === 'cut') {
    proxy.cut()
    return
  }
  if (how === 'stall') proxy.stall(true)
  else proxy.delay(lateness(milliseconds))
  await delay(milliseconds)
  proxy.stall(false)
  proxy.delay(0)
}
