import { TemporalFailure, sleep } from '@temporalio/workflow'
import { ApplicationFailure } from '@temporalio/common'
import { LIMITS } from '../protocol/limits.js'

/** What the SDK calls a signal that the other thread's run cannot take any more: its next run will. */
const REFUSED = 'SignalCountLimitExceeded'

/**
 * Sends something to another thread and awaits that it is taken. A thread that is gone takes nothing, and needs no telling;
 * one whose run has taken all the signals that it can is asked again, until it has continued as new.
 */
export async function told(tell: () => Promise<void>): Promise<'told' | 'gone'> {
  for (;;) {
    try {
      await tell()
      return 'told'
    } catch (error) {
      if (!(error instanceof TemporalFailure)) throw error
      if (!(error instanceof ApplicationFailure) || error.type !== REFUSED) return 'gone'
      await sleep(LIMITS.refusedSignal, { summary: 'another thread continues as new' })
    }
  }
}
