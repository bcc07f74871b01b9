import type { PlanContent } from '../../definitions/plan/plan-content.js'
import { fact } from '../../protocol/facts.js'
import { runIdOf } from '../../protocol/ids.js'
import { LIMITS } from '../../protocol/limits.js'
import {
  closeRequests,
  deferredChildOf,
  findRequest,
  insertRequest,
  openRequests,
} from '../../store/calls/requests.js'
import type { PendingRecord } from '../../store/calls/requests.js'
import { appendEvents } from '../../store/events.js'
import type { Reader, Writer } from '../../store/store.js'
import type { ActivityDependencies } from '../activity.js'
import { agentGraph, graphValues, ownValue, resolveVariables } from './resolve-variables.js'
import type { VariableScope } from './resolve-variables.js'
import type { Micros } from '../../protocol/time.js'

/** The variables that a prompt requires, and those of them that have no value. */
export interface RequiredVariables {
  readonly required: readonly string[]
  readonly missing: readonly string[]
}

/**
 * Finds the required variables of a prompt, its tools, and the prompts among them that have no value. It opens no
 * secret.
 */
export async function missingVariables(
  dependencies: ActivityDependencies,
  scope: VariableScope & { readonly content: PlanContent; readonly prompt: string },
): Promise<RequiredVariables> {
  const required = requiredNames(scope.content, scope.prompt)
  const found = await resolveVariables(dependencies, scope, required)
  return { required, missing: required.filter((name) => !found.has(name)) }
}

function requiredNames(content: PlanContent, first: string): readonly string[] {
  const names = new Set<string>()
  const seen = new Set<string>()
  const waiting = [first]
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    const prompt = seen.has(name) ? undefined : content.prompts[name]
    seen.add(name)
    if (prompt === undefined) continue
    for (const variable of prompt.variables) if (variable.required) names.add(variable.name)
    waiting.push(...Object.values(prompt.subprompts).map((nested) => nested.prompt))
  }
  return [...names]
}

interface NewSubagent {
  /** The parent's thread. */
  readonly threadId: string
  readonly agent: string
  /** The names that the parent hands over. */
  readonly given: ReadonlySet<string>
}

/**
 * The required variables that a new subagent does not get from its parent: those that its graph, anywhere below it,
 * declares as scoped. Values of the worker, of its agents and prompts count.
 */
export async function missingScoped(
  { registry, store, env }: ActivityDependencies,
  { threadId, agent, given }: NewSubagent,
): Promise<RequiredVariables> {
  const needs = agentGraph(registry, agent).flatMap((at) =>
    at.prompt.variables.flatMap(({ name, required, scoped }) =>
      required && scoped ? [{ ...at, name }] : [],
    ),
  )
  const required = [...new Set(needs.map(({ name }) => name))]
  if (required.length === 0) return { required, missing: [] }
  const handed = await store.read((db) => graphValues(db, threadId, required))
  const lacking = needs.filter(
    ({ name, env: ofAgent, prompt }) =>
      !given.has(name) &&
      !handed.has(name) &&
      [env, ofAgent, prompt.env].every((values) => ownValue(values, name) === undefined),
  )
  return { required, missing: [...new Set(lacking.map(({ name }) => name))] }
}

interface RunOfThread {
  readonly threadId: string
  readonly run: number
}

/** The id of the one request for variables that a run may end with. */
function variablesRequestId(run: number): string {
  return `variables_${run}`
}

/**
 * The open requests of earlier runs for variables. Those of deferred subagents are not among them: they outlive any
 * run.
 */
export async function openVariablesRequests(db: Reader, threadId: string): Promise<readonly PendingRecord[]> {
  // Beside the requests of deferred subagents a thread has few: one for the current call, and one for variables.
  const open = await openRequests(db, { threadId, limit: 2 * LIMITS.openChildren })
  return open.filter((request) => request.kind === 'variables' && deferredChildOf(request) === null)
}

interface Asked extends RequiredVariables {
  readonly agent: string
  readonly now: Micros
}

/** Requests the variables that a run lacks, by name: the values come with `setEnv`. Returns the request's id. */
export async function openVariablesRequest(
  tx: Writer,
  { threadId, run }: RunOfThread,
  { agent, required, missing, now }: Asked,
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

/** Ends the requests of earlier runs: what they asked for has a value now, or is requested anew. */
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

/** The variables that a blocked run waits for; none if it was blocked by something else. */
export async function missingOfRun(db: Reader, { threadId, run }: RunOfThread): Promise<readonly string[]> {
  const request = await findRequest(db, threadId, variablesRequestId(run))
  const missing = request?.detail?.['missing']
  return Array.isArray(missing) ? missing.map(String) : []
}
