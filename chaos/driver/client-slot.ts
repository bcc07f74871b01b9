import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import type { ClientPlace, ClientReport } from '../processes/places.js'
import { startChaosProcess } from './chaos-process.js'
import type { ChaosProcess } from './chaos-process.js'
import { untilLiving } from './live-process.js'

export type ClientSettings = Omit<ClientPlace, 'address' | 'store' | 'finish'>

/** One client process after the other. */
export interface ClientSlot {
  start(): void
  /** Resolves when there is a process that has worked for that long; null: one that may be in its start. */
  lived(milliseconds: number | null): Promise<void>
  /** kill -9; answers whether there was a living process. */
  kill(): Promise<boolean>
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

  async function kill(): Promise<boolean> {
    const killed = client
    client = undefined
    const alive = killed?.alive() === true
    await killed?.kill()
    return alive
  }

  return {
    start,
    lived: (milliseconds) => untilLiving(() => client, milliseconds),
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
