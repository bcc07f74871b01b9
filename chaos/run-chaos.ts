import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import { Client, Connection } from '@temporalio/client'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { ThreadClient } from 'everthread/client'
import { workflowBundleOptions } from 'everthread/worker'

import { checkAll } from './checks/check-all.js'
import { waitUntilQuiet } from './checks/wait-until-quiet.js'
import { activitiesInFlight } from './driver/activities-in-flight.js'
import { startChaosServers } from './driver/chaos-servers.js'
import type { ChaosServers } from './driver/chaos-servers.js'
import { disturb } from './driver/disturb.js'
import { startFleet } from './driver/fleet.js'
import { createRecoveries } from './driver/recoveries.js'
import type { Recovery } from './driver/recoveries.js'
import { schedule } from './driver/schedule.js'
import { watchEvents } from './driver/watch-events.js'
import type { Finding } from './finding.js'
import type { ChaosOptions } from './options.js'

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

/** Servers, workload, kills, quiet, checks: one seed from its beginning to its end. */
export async function runChaos(options: ChaosOptions, say: (line: string) => void): Promise<ChaosResult> {
  const begun = Date.now()
  const folder = await mkdtemp(join(tmpdir(), 'everthread-chaos-'))
  const servers = await startChaosServers(options.servers, folder)
  const run = { options, folder, say }
  const result = await runOn(servers, run).catch(async (error: unknown) => {
    say(`the driver failed; ${await leave(servers, folder)}`)
    throw error
  })
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

interface Run {
  readonly options: ChaosOptions
  readonly folder: string
  readonly say: (line: string) => void
}

async function runOn(
  servers: ChaosServers,
  { options, folder, say }: Run,
): Promise<Omit<ChaosResult, 'left' | 'seconds'>> {
  const { seed, kills, lanes, heartbeatTimeout } = options
  const paths = {
    deeds: join(folder, 'deeds.jsonl'),
    acknowledged: join(folder, 'acknowledged.jsonl'),
    received: join(folder, 'received.jsonl'),
    codePath: join(folder, 'workflows.js'),
  }
  await writeFile(paths.codePath, await bundle())
  const store = { blobs: join(folder, 'blobs'), secretKey: randomBytes(32).toString('base64') }
  const database = servers.databaseUrl(servers.postgres.port)
  const taskQueue = 'chaos'
  const recoveries = createRecoveries()
  const inFlight = activitiesInFlight(recoveries.progressed)
  const watch = watchEvents(database, recoveries.progressed)
  const { acknowledged, received, deeds, codePath } = paths
  const client = { taskQueue, seed, lanes, heartbeatTimeout, acknowledged, received }
  const worker = { taskQueue, codePath, deeds, graceTime: GRACE }
  const fleet = await startFleet({ servers, folder, client, worker, store, inFlight })
  const address = `127.0.0.1:${servers.temporal.port}`
  const connection = Connection.lazy({ address })
  const threads = new ThreadClient({
    client: new Client({ connection }),
    taskQueue,
    store: { ...store, database },
  })
  try {
    const names = [...servers.byName.keys()]
    const place = { fleet, servers, inFlight, recoveries, watch, say }
    const killed = await disturb(place, schedule({ seed, kills, servers: names }))
    say('no more kills; the client comes to its end')
    const looking = { threads, finish: fleet.finish, received, database, say }
    const stuck = await waitUntilQuiet(looking)
    if (options.wait) await delay(FRESH)
    await writeFile(join(folder, 'recoveries.json'), JSON.stringify(recoveries.done(), null, 1))
    const { findings, counts } = await checkAll({ threads, seed, ...paths, database, address, store })
    const unrecovered = recoveries.open().map((threadId): Finding => ({
      kind: 'stuck',
      threadId,
      id: threadId,
      problem: 'It was cut off by a kill, and made no progress afterwards.',
    }))
    return {
      kills: killed,
      counts,
      recoveries: recoveries.done(),
      findings: [...stuck, ...unrecovered, ...findings],
    }
  } finally {
    await watch.stop()
    await fleet.stop()
    await threads.close()
    await connection.close()
  }
}

async function bundle(): Promise<string> {
  const { code } = await bundleWorkflowCode({ ...workflowBundleOptions, logger: new DefaultLogger('WARN') })
  return code
}
