import { join } from 'node:path'

import type { ClientPlace, ClientReport } from '../processes/places.js'
import { startChaosProcess } from './chaos-process.js'
import { createRestartingSlot } from './restarting-slot.js'
import type { RestartingSlot } from './restarting-slot.js'

export type ClientSettings = Omit<ClientPlace, 'address' | 'store' | 'finish' | 'api'>

/** One client process after the other. */
export interface ClientSlot extends RestartingSlot {
  /** No thread is begun any more; resolves when all that were begun have been carried out. */
  finish(): Promise<void>
}

interface Settings {
  readonly place: Omit<ClientPlace, 'finish'>
  readonly folder: string
}

export function createClientSlot({ place, folder }: Settings): ClientSlot {
  let finish = false
  let finished = (): void => undefined
  const end = new Promise<void>((resolve) => {
    finished = resolve
  })
  const slot = createRestartingSlot(() => {
    const started = startChaosProcess<ClientReport>({
      module: 'client-process',
      place: { ...place, finish } satisfies ClientPlace,
      log: join(folder, 'client.log'),
      heard: (report) => {
        // It may have been started before it was told.
        if (report.kind === 'running' && finish) started.send({ kind: 'finish' })
        if (report.kind === 'finished') finished()
      },
    })
    return started
  })
  return {
    ...slot,
    async finish() {
      finish = true
      slot.send({ kind: 'finish' })
      await end
    },
  }
}
