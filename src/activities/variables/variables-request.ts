import { runIdOf } from '../../protocol/ids.js'
import { LIMITS } from '../../protocol/limits.js'
import { appendEvents } from '../../store/events.js'
import {
  closeRequests,
  deferredChildOf,
  findRequest,
  insertRequest,
  openRequests,
} from '../../store/pending.js'
import type { PendingRecord } from '../../store/pending.js'
import type { Reader, Writer } from '../../store/store.js'
import type { RequiredVariables } from './missing-variables.js'

interface RunOfThread {
  readonly threadId: string
  readonly run: number
}

/** The one request for variables that a run may end with. */
function variablesRequestId(run: number): string {
  return `variables_${run}`
}

/** Requests of earlier runs that still ask for variables; those of deferred subagents outlive any run. */
export async function openVariablesRequests(db: Reader, threadId: string): Promise<readonly PendingRecord[]> {
  // Beside those of deferred subagents a thread has few: one for the call at hand, and one for variables.
  const open = await openRequests(db, { threadId, limit: 2 * LIMITS.openChildren })
  return open.filter((request) => request.kind === 'variables' && deferredChildOf(request) === null)
}

export interface Asked extends RequiredVariables {
  readonly agent: string
  /** Microseconds. */
  readonly now: number
}

/** Asks for what a run lacks: names only, the values come with `setEnv`. Answers the request's id. */
export async function openVariablesRequest(
  tx: Writer,
  { threadId, run }: RunOfThread,
  { agent, required, missing, now }: Asked,
): Promise<string> {
  const id = variablesRequestId(run)
  const detail = { agent, required, missing }
  const request = { thread_id: threadId, id, kind: 'variables', detail, requested_at: now } as const
  if (!(await insertRequest(tx, request))) return id
  const payload = { requestId: id, kind: 'variables', toolName: null, missing }
  const event = { type: 'action.required', scope: { runId: runIdOf(run) }, payload }
  await appendEvents(tx, { threadId, events: [event], now })
  return id
}

interface Supersession {
  readonly threadId: string
  readonly requests: readonly PendingRecord[]
  readonly decision: 'supplied' | 'closed'
  readonly now: number
}

/** The next run looks again: what an earlier one asked for is there now, or is asked for anew. */
export async function endVariablesRequests(
  tx: Writer,
  { threadId, requests, decision, now }: Supersession,
): Promise<void> {
  if (requests.length === 0) return
  const ended = await closeRequests(tx, { threadId, ids: requests.map(({ id }) => id) })
  const events = ended.map(({ id, kind }) => ({
    type: 'action.resolved',
    payload: { requestId: id, kind, decision, by: null },
  }))
  await appendEvents(tx, { threadId, events, now })
}

/** What a blocked run waits for; none if it was blocked by something else. */
export async function missingOfRun(db: Reader, { threadId, run }: RunOfThread): Promise<readonly string[]> {
  const request = await findRequest(db, threadId, variablesRequestId(run))
  const missing = request?.detail?.['missing']
  return Array.isArray(missing) ? missing.map(String) : []
}
