import type { ThreadState, ToolResult } from 'everthread'

import { pause } from './act.js'
import type { Work } from './act.js'
import { isOpen, openGate } from './gate.js'

/** A call may emit a thousand events. */
const PAUSE = 500
/** Below the time that a call of a tool has. */
const LONGEST = 240_000

/** Keeps its thread from taking what is queued, until the client has filled the queue; a cut call holds again. */
export function holding(gates: string) {
  return async (state: ThreadState, { ref }: Work): Promise<ToolResult> => {
    const { threadId } = state
    openGate(gates, { threadId, kind: 'held' })
    const until = Date.now() + LONGEST
    while (!isOpen(gates, { threadId, kind: 'full' }) && Date.now() < until) {
      // A thread that is held makes no other progress, and would recover from no kill until it is let go.
      state.emit('held', { ref })
      await pause(state, PAUSE)
    }
    return { status: 'success', result: `held ${ref}` }
  }
}
