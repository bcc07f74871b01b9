/**
 * The requests of runs for variables that have no value.
 *
 * Owns: the one request that a run may end with, and its end.
 * Does not own: which variables are missing (variables.ts), requests of deferred subagents (subagents/prepare-child.ts).
 */
import { fact } from '../../protocol/facts.js'
import { runIdOf } from '../../protocol/ids.js'
import { LIMITS } from '../../protocol/limits.js'
import {
  closeRequests,
  deferredChildOf,
  findRequest,
  insertRequest,
  listOpenRequests,
} from '../../store/calls/requests.js'
import type { PendingRecord } from '../../store/calls/requests.js'
import { appendEvents } from '../../store/events.js'
import type { Reader, Writer } from '../../store/store.js'
import type { Micros } from '../../protocol/time.js'
import type { RequiredVariables } from './variables.js'

interface RunOfThread {
  readonly threadId: string
  readonly run: number
}

/** The id of the one request for variables that a run may end with. */
function variablesRequestId(run: number): string {
  return `variables_${run}`
}

/**
 * Returns the open requests of earlier runs for variables, without those of deferred subagents, which outlive any run.
 */
export async function openVariablesRequests(db: Reader, threadId: string): Promise<readonly PendingRecord[]> {
  // Besides the requests of deferred subagents a thread has at most two: one for the current call and one for variables.
  const open = await listOpenRequests(db, { threadId, limit: 2 * LIMITS.openChildren })
  return open.filter((request) => request.kind === 'variables' && deferredChildOf(request) === null)
}

interface RequestedVariables extends RequiredVariables {
  readonly agent: string
  readonly now: Micros
}

/** Requests the missing variables of a run by name; `setEnv` supplies the values. Returns the request's id. */
export async function openVariablesRequest(
  tx: Writer,
  { threadId, run }: RunOfThread,
  { agent, required, missing, now }: RequestedVariables,
): Promise<string> {
  const id = variablesRequestId(run)
  const detail = { agent, required, missing }
  const request = { thread_id: threadId, id, kind: 'variables', detail, requested_at: now } as const
  if (!(await insertRequest(tx, request))) return id
  const payload = { requestId: id, kind: 'variables', toolName: null, missing } as const
  const event = fact('action.required', payload, { runId: runIdOf(run) })
  await appendEvents(tx, { threadId, events: [event], now })
  return id
}

interface Supersession {
  readonly threadId: string
  readonly requests: readonly PendingRecord[]
  readonly decision: 'supplied' | 'closed'
  readonly now: Micros
}

/** Ends the requests of earlier runs: their variables have values now, or are requested anew. */
export async function endVariablesRequests(
  tx: Writer,
  { threadId, requests, decision, now }: Supersession,
): Promise<void> {
  if (requests.length === 0) return
  const ended = await closeRequests(tx, { threadId, ids: requests.map(({ id }) => id) })
  const events = ended.map(({ id, kind }) =>
    fact('action.resolved', { requestId: id, kind, decision, by: null }),
  )
  await appendEvents(tx, { threadId, events, now })
}

/** Returns the variables that blocked a run; none if something else blocked it. */
export async function missingOfRun(db: Reader, { threadId, run }: RunOfThread): Promise<readonly string[]> {
  const request = await findRequest(db, threadId, variablesRequestId(run))
  const missing = request?.detail?.['missing']
  return Array.isArray(missing) ? missing.map(String) : []
}
