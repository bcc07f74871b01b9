import type { DeskVersion } from '../desk/chaos-prompts.js'
import type { ActivitiesInFlight } from './activities-in-flight.js'
import type { ChaosServers } from './chaos-servers.js'
import { createClientSlot } from './client-slot.js'
import type { ClientSettings, ClientSlot } from './client-slot.js'
import { startLinks } from './links.js'
import { WORKERS } from './schedule.js'
import type { Holder } from './schedule.js'
import type { SlowProxy } from './slow-proxy.js'
import type { Timeline } from './timeline.js'
import { createWorkerSlot } from './worker-slot.js'
import type { WorkerSettings, WorkerSlot } from './worker-slot.js'

/** The processes of ours, each with connections of its own. */
export interface Fleet {
  worker(slot: number): WorkerSlot
  readonly client: ClientSlot
  proxy(of: Holder, to: 'store' | 'temporal'): SlowProxy
  /** Tells the client to come to an end; resolves when it has, in whichever process. */
  readonly finish: () => Promise<void>
  stop(): Promise<void>
}

interface FleetSettings {
  readonly servers: ChaosServers
  readonly folder: string
  readonly client: ClientSettings
  readonly worker: WorkerSettings
  readonly store: { readonly blobs: string; readonly secretKey: string }
  readonly inFlight: ActivitiesInFlight
  readonly timeline: Timeline
}

export async function startFleet(settings: FleetSettings): Promise<Fleet> {
  const { servers, folder, inFlight, store, timeline } = settings
  const links = await startLinks(servers)
  const at = (name: string) => ({ ...links.place(name), store: { ...store, ...links.database(name) } })
  const workers = Array.from({ length: WORKERS }, (_, slot) =>
    createWorkerSlot({ place: { ...settings.worker, ...at(`worker ${slot}`) }, folder, inFlight, timeline }),
  )
  const client = createClientSlot({ place: { ...settings.client, ...at('client') }, folder })
  const versions: readonly DeskVersion[] = ['old', 'new']
  for (const [slot, worker] of workers.entries()) worker.start(versions[slot % 2] ?? 'old')
  client.start()
  return {
    worker(slot) {
      const worker = workers[slot]
      if (worker === undefined) throw new Error(`Expected a slot below ${WORKERS}, got ${slot}.`)
      return worker
    },
    client,
    proxy: (of, to) => links.proxy(of.kind === 'client' ? 'client' : `worker ${of.slot}`, to),
    finish: () => client.finish(),
    async stop() {
      await Promise.all([...workers.map((worker) => worker.stop()), client.stop()])
      await links.stop()
    },
  }
}
