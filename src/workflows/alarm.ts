import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow'
import { LIMITS } from '../protocol/limits.js'
import { comesDue, nextDueAt } from '../thread/due.js'
import type { ThreadHost } from './thread-host.js'

/** One timer for all that comes due by itself: for the earliest, and set anew only when that is another time. */
export interface Alarm {
  set(at: number | null): void
}

interface Timer {
  /** The due time that it is for. */
  readonly at: number
  /** Earlier than that when the server takes no timer so long. */
  readonly ringsAt: number
  readonly scope: CancellationScope
}

/** What becomes due only moves into the inbox, or is marked, whatever the thread is doing. */
export function createAlarm(host: ThreadHost): Alarm {
  let timer: Timer | null = null
  const set = (at: number | null): void => {
    if (at === (timer?.at ?? null)) return
    const now = Date.now()
    // It rings by itself, and sets the alarm then: a server may have fired it already, and refuses a task that cancels it.
    if (timer !== null && timer.ringsAt <= now) return
    timer?.scope.cancel()
    timer = at === null ? null : started(at, now)
  }
  const started = (at: number, now: number): Timer => {
    const delay = Math.min(at - now, LIMITS.longestTimer)
    const scope = new CancellationScope({ cancellable: true })
    void scope.run(() => sleep(delay, { summary: 'next due time' })).then(ring, ignoreCancellation)
    return { at, ringsAt: now + delay, scope }
  }
  const ring = (): void => {
    timer = null
    const now = Date.now()
    host.update((control) => comesDue(control, now))
    set(nextDueAt(host.control, now))
  }
  return { set }
}

function ignoreCancellation(error: unknown): void {
  if (!isCancellation(error)) throw error
}
