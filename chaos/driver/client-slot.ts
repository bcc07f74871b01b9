import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import type { ClientPlace, ClientReport } from '../processes/places.js'
import { startChaosProcess } from './chaos-process.js'
import type { ChaosProcess } from './chaos-process.js'

export type ClientSettings = Omit<ClientPlace, 'address' | 'store' | 'finish'>

/** One client process after the other. */
export interface ClientSlot {
  start(): void
  /** Resolves when the process has worked for that long; at once if there is none. */
  lived(milliseconds: number): Promise<void>
  /** kill -9. */
  kill(): Promise<void>
  /** No thread is begun any more; resolves when all that were begun have been carried out. */
  finish(): Promise<void>
  /** For good. */
  stop(): Promise<void>
}

interface Settings {
  readonly place: Omit<ClientPlace, 'finish'>
  readonly folder: string
}

const RESTART = 500

export function createClientSlot({ place, folder }: Settings): ClientSlot {
  let client: ChaosProcess | undefined
  let finish = false
  let stopped = false
  let finished = (): void => undefined
  const end = new Promise<void>((resolve) => {
    finished = resolve
  })

  function start(): void {
    if (stopped) return
    const started: ChaosProcess = startChaosProcess<ClientReport>({
      module: 'client-process',
      place: { ...place, finish } satisfies ClientPlace,
      log: join(folder, 'client.log'),
      heard: (report) => {
        // It may have been started before it was told.
        if (report.kind === 'running' && finish) started.send({ kind: 'finish' })
        if (report.kind === 'finished') finished()
      },
    })
    client = started
    void restartWhenGone(started)
  }

  async function restartWhenGone(started: ChaosProcess): Promise<void> {
    await started.gone
    await delay(RESTART)
    if (client === started) start()
  }

  async function kill(): Promise<void> {
    const killed = client
    client = undefined
    await killed?.kill()
  }

  return {
    start,
    lived: async (milliseconds) => client?.lived(milliseconds),
    kill,
    async finish() {
      finish = true
      client?.send({ kind: 'finish' })
      await end
    },
    async stop() {
      stopped = true
      await kill()
    },
  }
}
