import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow'
import { LIMITS } from '../protocol/limits.js'
import { effectsDue, nextEffectAt } from '../thread/effects.js'
import type { ThreadHost } from './thread-host.js'

/** One timer for all effects of a thread: for the earliest, and set anew only when that is another time. */
export interface Alarm {
  set(at: number | null): void
}

/** What becomes due only moves into the inbox, whatever the thread is doing. */
export function createAlarm(host: ThreadHost): Alarm {
  let time: number | null = null
  let timer: CancellationScope | null = null
  const set = (at: number | null): void => {
    if (at === time) return
    timer?.cancel()
    time = at
    timer = at === null ? null : started(at - Date.now())
  }
  const started = (delay: number): CancellationScope => {
    const scope = new CancellationScope({ cancellable: true })
    const options = { summary: 'next effect' }
    void scope.run(() => sleep(Math.min(delay, LIMITS.longestTimer), options)).then(ring, ignoreCancellation)
    return scope
  }
  const ring = (): void => {
    time = null
    timer = null
    const now = Date.now()
    host.update((control) => effectsDue(control, now))
    set(nextEffectAt(host.control, now))
  }
  return { set }
}

function ignoreCancellation(error: unknown): void {
  if (!isCancellation(error)) throw error
}
