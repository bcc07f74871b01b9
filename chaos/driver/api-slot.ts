import { join } from 'node:path'

import type { ApiPlace, ApiReport } from '../processes/places.js'
import { startChaosProcess } from './chaos-process.js'
import { createRestartingSlot } from './restarting-slot.js'
import type { RestartingSlot } from './restarting-slot.js'

interface Settings {
  readonly place: ApiPlace
  readonly folder: string
}

/** One API process after the other, on one port. */
export function createApiSlot({ place, folder }: Settings): RestartingSlot {
  return createRestartingSlot(() =>
    startChaosProcess<ApiReport>({
      module: 'api-process',
      place,
      log: join(folder, 'api.log'),
      heard: () => undefined,
    }),
  )
}
