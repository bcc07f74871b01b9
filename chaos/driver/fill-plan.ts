import { programText, refOf } from '../desk/program.js'
import { words } from './action.js'
import type { Action, ThreadPlan } from './action.js'

/** A few more than a thread lets wait (`LIMITS.queuedItems`): what does not fit is refused, by name. */
const MESSAGES = 1_005
/** Behind it is looked whether the queue is full: a worker that takes the call may be away for some kills. */
const LONGEST_WAIT = 120_000

/** A thread whose first call holds it while its queue is filled, one message after the other. */
export function planFilling(threadId: string): ThreadPlan {
  const hold = { tool: 'hold', args: { ref: refOf('m0', 0, 0) } }
  const content = `Do #m0 ${programText({ id: 'm0', steps: [[hold]] })}`
  const filling = Array.from({ length: MESSAGES }, (_, number): Action => ({
    ...words(threadId, `fill${number}`),
    fills: true,
  }))
  return {
    threadId,
    // Half a filled queue is none.
    whole: true,
    actions: [
      { kind: 'send', id: `${threadId}-m0`, content, files: [] },
      { kind: 'wait_for_hold', milliseconds: LONGEST_WAIT },
      ...filling,
      { kind: 'end_hold' },
      words(threadId, 'last'),
    ],
  }
}
