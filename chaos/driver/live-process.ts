import { setTimeout as delay } from 'node:timers/promises'

import type { ChaosProcess } from './chaos-process.js'

const PAUSE = 50
/** Of one process that ends by itself after the other, as they do while a server is away. */
const PATIENCE = 60_000

/** Resolves when a slot has a process that lives, and has worked for that long unless it is null: there is one to kill. */
export async function untilLiving(
  current: () => ChaosProcess | undefined,
  milliseconds: number | null,
): Promise<void> {
  for (const until = Date.now() + PATIENCE; Date.now() < until; await delay(PAUSE)) {
    const living = current()
    if (living?.alive() !== true) continue
    if (milliseconds !== null) await living.lived(milliseconds)
    if (living.alive()) return
  }
}
