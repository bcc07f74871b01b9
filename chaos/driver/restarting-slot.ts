import { setTimeout as delay } from 'node:timers/promises'

import type { ChaosProcess } from './chaos-process.js'
import { untilLiving } from './live-process.js'

/** One process after the other, of those that nothing is in flight in: what they were at is asked for again. */
export interface RestartingSlot {
  start(): void
  /** To the process that lives now, if one does. */
  send(order: object): void
  /** Resolves when there is a process that has worked for that long; null: one that may be in its start. */
  lived(milliseconds: number | null): Promise<void>
  /** kill -9; answers whether there was a living process. */
  kill(): Promise<boolean>
  /** For good. */
  stop(): Promise<void>
}

/** As every supervisor waits before it starts again what has ended by itself. */
const RESTART = 500

export function createRestartingSlot(startProcess: () => ChaosProcess): RestartingSlot {
  let current: ChaosProcess | undefined
  let stopped = false

  function start(): void {
    if (stopped) return
    const started = startProcess()
    current = started
    void restartWhenGone(started)
  }

  async function restartWhenGone(started: ChaosProcess): Promise<void> {
    await started.gone
    await delay(RESTART)
    if (current === started) start()
  }

  async function kill(): Promise<boolean> {
    const killed = current
    current = undefined
    const alive = killed?.alive() === true
    await killed?.kill()
    return alive
  }

  return {
    start,
    send: (order) => current?.send(order),
    lived: (milliseconds) => untilLiving(() => current, milliseconds),
    kill,
    async stop() {
      stopped = true
      await kill()
    },
  }
}
