import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import type { DeskVersion } from '../desk/chaos-desk.js'
import type { ClientPlace, ClientReport, WorkerPlace, WorkerReport } from '../processes/places.js'
import type { ActivitiesInFlight } from './activities-in-flight.js'
import { startChaosProcess } from './chaos-process.js'
import type { ChaosProcess } from './chaos-process.js'
import type { ChaosServers } from './chaos-servers.js'
import { WORKERS } from './schedule.js'
import type { Holder } from './schedule.js'
import { startSlowProxy } from './slow-proxy.js'
import type { SlowProxy } from './slow-proxy.js'

export interface Fleet {
  /** Answers the threads that were cut off. */
  killWorker(slot: number): Promise<readonly string[]>
  killClient(): Promise<void>
  startWorker(slot: number, version: DeskVersion): void
  startClient(): void
  /** SIGTERM, then one of the other version. */
  deploy(slot: number, version: DeskVersion): Promise<void>
  proxy(of: Holder, to: 'store' | 'temporal'): SlowProxy
  /** Tells the client to come to an end; resolves when it has, in whichever process. */
  readonly finish: () => Promise<void>
  stop(): Promise<void>
}

export interface FleetPlace {
  readonly servers: ChaosServers
  readonly folder: string
  readonly client: Omit<ClientPlace, 'address' | 'store' | 'finish'>
  readonly codePath: string
  readonly deeds: string
  readonly store: { readonly blobs: string; readonly secretKey: string }
  readonly inFlight: ActivitiesInFlight
}

interface Links {
  readonly store: SlowProxy
  readonly temporal: SlowProxy
}

const GRACE = 2_000

/** Three workers and a client, each with connections of its own. */
export async function startFleet(place: FleetPlace): Promise<Fleet> {
  const { servers, folder, inFlight } = place
  const links = new Map<string, Links>()
  for (const name of ['client', ...Array.from({ length: WORKERS }, (_, slot) => `worker-${slot}`)])
    links.set(name, {
      store: await startSlowProxy(servers.postgres.port),
      temporal: await startSlowProxy(servers.temporal.port),
    })
  const workers = new Map<number, ChaosProcess>()
  let client: ChaosProcess | undefined
  let finish = false
  let stopped = false
  let finished = (): void => undefined
  const end = new Promise<void>((resolve) => {
    finished = resolve
  })

  const linksOf = (name: string): Links => {
    const found = links.get(name)
    if (found === undefined) throw new Error(`Expected a process of the fleet, got ${name}.`)
    return found
  }
  const placeOf = (name: string) => {
    const { store, temporal } = linksOf(name)
    return {
      address: `127.0.0.1:${temporal.port}`,
      store: { ...place.store, database: servers.databaseUrl(store.port) },
      taskQueue: place.client.taskQueue,
    }
  }

  function startWorker(slot: number, version: DeskVersion): void {
    if (stopped) return
    const { codePath, deeds } = place
    const own: WorkerPlace = { ...placeOf(`worker-${slot}`), version, codePath, deeds, graceTime: GRACE }
    const worker: ChaosProcess = startChaosProcess<WorkerReport>({
      module: 'worker-process',
      place: own,
      log: join(folder, 'workers.log'),
      heard: (report) => {
        if (report.kind === 'begun') inFlight.begun(worker.pid, report.threadId)
        if (report.kind === 'ended') inFlight.ended(worker.pid, report.threadId, report.ok)
      },
    })
    workers.set(slot, worker)
    // One that ends by itself, as it does when a server is away at its start, is started again, as everywhere.
    void worker.gone.then(async () => {
      if (workers.get(slot) !== worker) return
      inFlight.cutOff(worker.pid)
      await delay(500)
      if (workers.get(slot) === worker) startWorker(slot, version)
    })
  }

  function startClient(): void {
    if (stopped) return
    const own: ClientPlace = { ...place.client, ...placeOf('client'), finish }
    const process = startChaosProcess<ClientReport>({
      module: 'client-process',
      place: own,
      log: join(folder, 'client.log'),
      heard: (report) => {
        if (report.kind === 'running' && finish) process.send({ kind: 'finish' })
        if (report.kind === 'finished') finished()
      },
    })
    client = process
    void process.gone.then(async () => {
      await delay(500)
      if (client === process) startClient()
    })
  }

  for (let slot = 0; slot < WORKERS; slot += 1) startWorker(slot, slot === 0 ? 'new' : 'old')
  startClient()
  return {
    async killWorker(slot) {
      const worker = workers.get(slot)
      workers.delete(slot)
      if (worker === undefined) return []
      await worker.kill()
      // What it said last may come behind its end.
      await delay(30)
      return inFlight.cutOff(worker.pid)
    },
    async killClient() {
      const killed = client
      client = undefined
      await killed?.kill()
    },
    startWorker,
    startClient,
    async deploy(slot, version) {
      const worker = workers.get(slot)
      workers.delete(slot)
      await worker?.shutDown()
      if (worker !== undefined) inFlight.cutOff(worker.pid)
      startWorker(slot, version)
    },
    proxy: (of, to) => linksOf(of.kind === 'client' ? 'client' : `worker-${of.slot}`)[to],
    async finish() {
      finish = true
      client?.send({ kind: 'finish' })
      await end
    },
    async stop() {
      stopped = true
      const processes = [...workers.values(), ...(client === undefined ? [] : [client])]
      workers.clear()
      client = undefined
      await Promise.all(processes.map((process) => process.kill()))
      for (const { store, temporal } of links.values()) await Promise.all([store.stop(), temporal.stop()])
    },
  }
}
