import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import { Client, Connection } from '@temporalio/client'
import { ThreadClient } from 'everthread/client'

import { checkAll } from './checks/check-all.js'
import type { CheckedPlace } from './checks/check-all.js'
import { waitUntilQuiet } from './checks/wait-until-quiet.js'
import { activitiesInFlight } from './driver/activities-in-flight.js'
import { startChaosServers } from './driver/chaos-servers.js'
import type { ChaosServers } from './driver/chaos-servers.js'
import { disturb } from './driver/disturb.js'
import type { Disturbed } from './driver/disturb.js'
import { startFleet } from './driver/fleet.js'
import { buildOldPackage, commitOf } from './driver/old-package.js'
import type { OldPackage } from './driver/old-package.js'
import { createRecoveries } from './driver/recoveries.js'
import type { Recovery } from './driver/recoveries.js'
import { schedule } from './driver/schedule.js'
import { askWhoTook } from './driver/taken-by.js'
import { createTimeline } from './driver/timeline.js'
import { watchEvents } from './driver/watch-events.js'
import type { Watchdog } from './driver/watchdog.js'
import type { Finding } from './finding.js'
import type { ChaosOptions } from './options.js'
import { bundleWorkflow } from './processes/bundle-workflow.js'

export interface ChaosResult {
  /** By what was killed. */
  readonly kills: Readonly<Record<string, number>>
  readonly counts: Readonly<Record<string, number>>
  readonly recoveries: readonly Recovery[]
  readonly findings: readonly Finding[]
  readonly seconds: number
  /** What is left to look at, if anything was found. */
  readonly left: string | null
}

/** What `everthread doctor` passes over as under way. */
const FRESH = 61_000
/** Milliseconds that a deploy gives to running activities. */
const GRACE = 2_000
/** Recoveries that are told of. */
const SLOWEST = 5

/** Who is told what a run is at. */
export interface Listeners {
  readonly say: (line: string) => void
  readonly watchdog: Watchdog
}

/** Servers, workload, kills, quiet, checks: one seed from its beginning to its end. */
export async function runChaos(options: ChaosOptions, listeners: Listeners): Promise<ChaosResult> {
  const { say, watchdog } = listeners
  const begun = Date.now()
  watchdog.begin('start the servers')
  const folder = await mkdtemp(join(tmpdir(), 'everthread-chaos-'))
  say(`journals and logs are in ${folder}`)
  const servers = await startChaosServers(options.servers, folder)
  const run = { ...listeners, options, folder }
  const result = await runOn(servers, run).catch(async (error: unknown) => {
    watchdog.fail()
    watchdog.begin('end the servers')
    say(await leave(servers, folder))
    throw error
  })
  watchdog.begin('end the servers')
  const seconds = (Date.now() - begun) / 1000
  if (result.findings.length > 0) return { ...result, seconds, left: await leave(servers, folder) }
  await servers.stop()
  await rm(folder, { recursive: true, force: true })
  return { ...result, seconds, left: null }
}

async function leave(servers: ChaosServers, folder: string): Promise<string> {
  const data = await servers.leave()
  return `left for looking: journals, logs and blobs in ${folder}, the store's PostgreSQL in ${data}`
}

interface Run extends Listeners {
  readonly options: ChaosOptions
  readonly folder: string
}

async function runOn(
  servers: ChaosServers,
  { options, folder, say, watchdog }: Run,
): Promise<Omit<ChaosResult, 'left' | 'seconds'>> {
  const { seed, lanes, heartbeatTimeout } = options
  const paths = {
    deeds: join(folder, 'deeds.jsonl'),
    acknowledged: join(folder, 'acknowledged.jsonl'),
    received: join(folder, 'received.jsonl'),
    answers: join(folder, 'answers.jsonl'),
    codePath: join(folder, 'workflows.js'),
  }
  watchdog.begin('bundle the workflow')
  await bundleWorkflow(paths.codePath)
  const old = await oldPackage({ options, folder, say, watchdog })
  const store = { blobs: join(folder, 'blobs'), secretKey: randomBytes(32).toString('base64') }
  const database = servers.databaseUrl(servers.postgres.port)
  const taskQueue = 'chaos'
  const recoveries = createRecoveries()
  const inFlight = activitiesInFlight(recoveries.progressed)
  const timeline = createTimeline()
  const watch = watchEvents(database, recoveries.progressed)
  const { acknowledged, received, answers, deeds, codePath } = paths
  const client = { taskQueue, seed, lanes, heartbeatTimeout, acknowledged, received, answers, gates: folder }
  const worker = { taskQueue, codePath, deeds, gates: folder, graceTime: GRACE }
  watchdog.begin('start the processes')
  const fleet = await startFleet({ servers, folder, client, worker, old, store, inFlight, timeline })
  const address = `127.0.0.1:${servers.temporal.port}`
  const connection = Connection.lazy({ address })
  const temporal = new Client({ connection })
  const threads = new ThreadClient({
    client: temporal,
    taskQueue,
    store: { ...store, database },
  })
  const place = {
    fleet,
    servers,
    inFlight,
    recoveries,
    takenBy: askWhoTook(temporal),
    watch,
    timeline,
    say,
    watchdog,
  }
  const asked = { threads, seed, ...paths, database, address, store }
  try {
    return await killAndCheck({ options, folder, place, asked })
  } catch (error) {
    watchdog.fail()
    throw error
  } finally {
    watchdog.begin('end the processes')
    await watch.stop()
    await fleet.stop()
    await threads.close()
    await connection.close()
  }
}

interface Trial {
  readonly options: ChaosOptions
  readonly folder: string
  readonly place: Disturbed
  readonly asked: CheckedPlace
}

async function killAndCheck({
  options,
  folder,
  place,
  asked,
}: Trial): Promise<Omit<ChaosResult, 'left' | 'seconds'>> {
  const { seed, kills: most, patience, wait, rest } = options
  const { servers, fleet, recoveries, timeline, say, watchdog } = place
  const moments = schedule({ seed, kills: most, rest, servers: [...servers.byName.keys()] })
  const kills = await disturb(place, moments)
  say('no more kills; the client comes to its end')
  const progressed = (): void => watchdog.begin('come to rest', { more: patience })
  progressed()
  const stuck = await waitUntilQuiet({ ...asked, finish: fleet.finish, patience, progressed, say })
  watchdog.begin('wait until doctor passes over nothing')
  if (wait) await delay(FRESH)
  await writeFile(join(folder, 'recoveries.json'), JSON.stringify(recoveries.done(), null, 1))
  // The folder goes with a run that finds nothing; what was slow is to be looked into all the same.
  for (const slow of recoveries
    .done()
    .toSorted((one, other) => other.milliseconds - one.milliseconds)
    .slice(0, SLOWEST))
    say([`slow recovery: ${JSON.stringify(slow)}`, ...timeline.around(slow)].join('\n  '))
  watchdog.begin('check')
  const { findings, counts: checked } = await checkAll(asked)
  const counts = {
    ...checked,
    old_activities: fleet.activities('old'),
    new_activities: fleet.activities('new'),
  }
  const unrecovered = recoveries.open().map((threadId): Finding => ({
    kind: 'stuck',
    threadId,
    id: threadId,
    problem: 'It was cut off by a kill, and made no progress afterwards.',
  }))
  return { kills, counts, recoveries: recoveries.done(), findings: [...stuck, ...unrecovered, ...findings] }
}

async function oldPackage({ options, folder, say, watchdog }: Run): Promise<OldPackage | null> {
  if (options.old === null) return null
  watchdog.begin('build the old package')
  const commit = commitOf(options.old)
  say(`old workers run ${options.old}, which is ${commit}`)
  return buildOldPackage(commit, join(folder, 'old'))
}
