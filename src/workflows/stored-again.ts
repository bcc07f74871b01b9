import { condition } from '@temporalio/workflow'
import { LIMITS } from '../protocol/limits.js'
import type { ThreadHost } from './thread-host.js'

/**
 * Asks for what a thread cannot go on without until the store has taken it. The pauses in between grow, for nothing here
 * continues as new and each round leaves some ten events; a terminate that comes in one of them, or while
 * the store is asked, cuts it.
 */
export async function untilStored<T>(host: ThreadHost, ask: () => Promise<T | null>): Promise<T> {
  for (let pause: number = LIMITS.storedAgainFirst; ; pause = Math.min(pause * 2, LIMITS.storedAgainLast)) {
    const { terminating } = host.control
    const answer = await ask()
    if (answer !== null) return answer
    const cut = (): boolean => host.control.terminating && !terminating
    await condition(cut, pause, { summary: 'the store has failed for a day' })
  }
}
