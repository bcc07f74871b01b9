import { expect } from 'vitest'

import type { Death } from './death.js'
import type { Fixture } from './fixture.js'
import type { WorkerProcess } from './run-worker.js'

/** One worker process after the other: each test kills the one that works, and the next goes on. */
export interface Fleet {
  /** Where the process that works kills itself. */
  dieAt(death: Death): void
  /** kill -9 to the process that works. */
  kill(): Promise<void>
  /** Until the process that works has killed itself. */
  waitForDeath(): Promise<void>
  /** Once it is dead, by a kill and nothing else, the next process works. */
  replaceDead(): Promise<void>
}

/** Starts the first process, and always has another that needs no time to start. */
export async function startFleet(fixture: Fixture): Promise<Fleet> {
  let working: WorkerProcess = await fixture.startWorker()
  let next = fixture.prepareWorker()
  return {
    dieAt: (death) => working.dieAt(death),
    kill: () => working.kill(),
    waitForDeath: () => working.gone.then(() => undefined),
    async replaceDead() {
      expect(await working.gone).toBe('SIGKILL')
      working = await next
      await working.run()
      next = fixture.prepareWorker()
    },
  }
}
