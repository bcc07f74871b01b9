import { randomBytes } from 'node:crypto'

import { freePort } from '../../test/support/free-port.js'
import type { DeskVersion } from '../desk/chaos-prompts.js'
import type { ActivitiesInFlight } from './activities-in-flight.js'
import { createApiSlot } from './api-slot.js'
import type { ChaosServers } from './chaos-servers.js'
import { createClientSlot } from './client-slot.js'
import type { ClientSettings, ClientSlot } from './client-slot.js'
import { startLinks } from './links.js'
import type { RestartingSlot } from './restarting-slot.js'
import { nameOf, WORKERS } from './schedule.js'
import type { Holder, Target } from './schedule.js'
import type { SlowProxy } from './slow-proxy.js'
import type { Timeline } from './timeline.js'
import { createWorkerSlot } from './worker-slot.js'
import type { Versions, WorkerSettings, WorkerSlot } from './worker-slot.js'

/** The processes of ours, each with connections of its own. */
export interface Fleet {
  worker(slot: number): WorkerSlot
  readonly client: ClientSlot
  readonly api: RestartingSlot
  proxy(of: Holder, to: Target): SlowProxy
  /** Tells the client to come to an end; resolves when it has, in whichever process. */
  readonly finish: () => Promise<void>
  /** Activities that workers of that version have brought to an end. */
  readonly activities: (version: DeskVersion) => number
  stop(): Promise<void>
}

interface FleetSettings extends Versions {
  readonly servers: ChaosServers
  readonly folder: string
  readonly client: ClientSettings
  readonly worker: WorkerSettings
  readonly store: { readonly blobs: string; readonly secretKey: string }
  readonly inFlight: ActivitiesInFlight
  readonly timeline: Timeline
}

export async function startFleet(settings: FleetSettings): Promise<Fleet> {
  const { servers, folder, inFlight, store, timeline, old } = settings
  const port = await freePort()
  const token = randomBytes(16).toString('hex')
  const links = await startLinks(servers, port)
  const at = (name: string) => ({ ...links.place(name), store: { ...store, ...links.database(name) } })
  const of = { old, folder, inFlight, timeline }
  const workers = Array.from({ length: WORKERS }, (_, slot) =>
    createWorkerSlot({ ...of, place: { ...settings.worker, ...at(`worker ${slot}`) } }),
  )
  const { taskQueue } = settings.client
  const api = createApiSlot({ place: { taskQueue, port, token, ...at('api') }, folder })
  const toApi = { api: { url: links.apiUrl, token } }
  const client = createClientSlot({ place: { ...settings.client, ...at('client'), ...toApi }, folder })
  const versions: readonly DeskVersion[] = ['old', 'new']
  for (const [slot, worker] of workers.entries()) worker.start(versions[slot % 2] ?? 'old')
  api.start()
  client.start()
  return {
    worker(slot) {
      const worker = workers[slot]
      if (worker === undefined) throw new Error(`Expected a slot below ${WORKERS}, got ${slot}.`)
      return worker
    },
    client,
    api,
    proxy: (of, to) => links.proxy(nameOf(of), to),
    finish: () => client.finish(),
    activities: (version) => workers.reduce((sum, worker) => sum + worker.activities[version], 0),
    async stop() {
      await Promise.all([...workers, client, api].map((slot) => slot.stop()))
      await links.stop()
    },
  }
}
