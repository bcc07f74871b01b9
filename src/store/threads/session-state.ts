/**
 * The state that a thread has by itself, in a column of its row.
 * Owns: the columns of sessions, and which status and reason make which state.
 * Does not own: the state of a session, which depends on the threads below its root (`sessions.ts`).
 * Invariant: the column is written only in transactions that write the row of the thread anyhow, so that it costs no statement.
 */
import { runOutcome } from '../../protocol/status.js'
import type { StopReason, ThreadStatus } from '../../protocol/status.js'
import type { OwnState } from '../../protocol/payloads/sessions.js'
import type { Micros } from '../../protocol/time.js'

/** The columns of a thread that belong to its session. Those below `session_state` are null on a subagent, which has them of its root. */
export interface SessionColumns {
  /** `OwnState`. */
  session_state: string
  /** JSON object of the caller. */
  metadata: string | null
  workspace_uri: string | null
  archived_at: Micros | null
  /** JSON of `Escalation`; null: no person has taken over. */
  escalation: string | null
}

/** A person has taken over. */
export interface Escalation {
  /** Who or which queue; null: nobody in particular. */
  readonly to: string | null
  readonly reason: string | null
  readonly at: Micros
}

/** The states of a thread that has been closed, or is about to be. */
const ENDED: ReadonlySet<ThreadStatus> = new Set(['completed', 'failed', 'terminated'])

/**
 * The state of a thread with that status, whose newest run ended for that reason. Undefined for a thread that is closing: whoever
 * closes it sets its state.
 */
export function ownStateOf(status: ThreadStatus, reason: StopReason | undefined): OwnState | undefined {
  if (ENDED.has(status)) return undefined
  if (status === 'stopped' || status === 'blocked') return 'idle'
  if (status !== 'idle') return 'active'
  if (reason === 'session_stop') return 'completed'
  return reason !== undefined && runOutcome(reason) === 'failed' ? 'failed' : 'idle'
}

/** The state of a thread of that state once it is terminated: what has come to an end by itself stays so. */
export function terminatedState(state: OwnState): OwnState {
  return state === 'active' || state === 'idle' ? 'terminated' : state
}
