/** What a thread that was lost goes on with: ids, registered names and numbers of its rows, never content (T5). */
import type { PreparedChild } from './child-activities.js'
import { LIMITS } from './limits.js'
import type { ChildReport } from './messages.js'
import type { Side } from './plan.js'
import type { LastRun } from './snapshot.js'
import { areCallIds, isCallId, isName, isObject, isWholeNumber } from './value-shapes.js'
import type { Fields } from './value-shapes.js'

/** In the start input of a thread that is opened again. Times: milliseconds since 1970. */
export interface ReopenedThread {
  /** The one that has the thread now, after handoffs. */
  readonly agent: string
  /** The highest numbers in use: what comes next has another one, so that nothing finished runs again (T4). */
  readonly runs: number
  readonly settles: number
  readonly reports: number
  readonly items: number
  /** Children that it ever started. */
  readonly children: number
  /** The side that acts next, of a run that was cut off; left out: nothing was under way. */
  readonly side?: Side
  readonly stopped?: true
  /** Sides whose immediate subagents have started. */
  readonly activated: readonly Side[]
  /** Calls of the parent that it has taken and not answered. */
  readonly invocations: readonly string[]
  /** Scheduled effects, as `[id, dueAt]`. */
  readonly effects: readonly (readonly [string, number])[]
  readonly open: readonly ReopenedChild[]
  readonly deferred: readonly ReopenedDeferred[]
  readonly groups: readonly { readonly callId: string; readonly references: readonly string[] }[]
  /** What the last run was blocked for. */
  readonly request?: { readonly id: string; readonly requestedAt: number }
  /** The last report that is in the parent's store: it is announced once more. */
  readonly report?: Omit<ChildReport, 'reference'>
  readonly lastRun?: LastRun
}

/** A child that is open, and the calls that it has not answered. */
export interface ReopenedChild {
  readonly reference: string
  readonly resumable: boolean
  readonly invocations: readonly string[]
  /** Number of the last report that is stored. */
  readonly reports: number
}

/** A child that waits for variables. */
export interface ReopenedDeferred {
  readonly requestId: string
  readonly callId: string
  readonly child: PreparedChild
  readonly requestedAt: number
  /** The request is answered: the child is to be started. */
  readonly supplied: boolean
}

/** Says what is wrong with `reopened` of a start input, or nothing. */
export function reopenedProblem(reopened: unknown): string | undefined {
  if (!isObject(reopened)) return 'Expected "reopened" to be what a client made of a lost thread.'
  const wrong = Object.entries(CHECKS).find(([field, isRight]) => !isRight(reopened[field]))
  return wrong === undefined
    ? undefined
    : `Expected "reopened.${wrong[0]}" to be ids and numbers of a thread.`
}

const CHECKS: Readonly<Record<keyof ReopenedThread, (value: unknown) => boolean>> = {
  agent: isName,
  runs: isCount,
  settles: isCount,
  reports: isCount,
  items: isCount,
  children: isCount,
  side: (value) => value === undefined || isSide(value),
  stopped: (value) => value === undefined || value === true,
  activated: (value) => isListOf(value, 2, isSide),
  invocations: areCallIds,
  effects: (value) => isListOf(value, LIMITS.effects, isEffect),
  open: (value) => isListOf(value, LIMITS.openChildren, isChild),
  deferred: (value) => isListOf(value, LIMITS.openChildren, isDeferred),
  groups: (value) => isListOf(value, LIMITS.openChildren, isGroup),
  request: (value) =>
    value === undefined || (isObject(value) && isName(value['id']) && isCount(value['requestedAt'])),
  report: (value) => value === undefined || isReport(value),
  lastRun: (value) =>
    value === undefined || (isObject(value) && isName(value['runId']) && isName(value['reason'])),
}

function isListOf(value: unknown, most: number, isOne: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length <= most && value.every(isOne)
}

function isCount(value: unknown): boolean {
  return isWholeNumber(value, 0, Number.MAX_SAFE_INTEGER)
}

function isSide(value: unknown): boolean {
  return value === 'a' || value === 'b'
}

function isEffect(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && isName(value[0]) && isCount(value[1])
}

function isChild(value: unknown): boolean {
  if (!isObject(value)) return false
  const { reference, resumable, invocations, reports }: Fields = value
  return isName(reference) && typeof resumable === 'boolean' && areCallIds(invocations) && isCount(reports)
}

function isDeferred(value: unknown): boolean {
  if (!isObject(value)) return false
  const { requestId, callId, child, requestedAt, supplied }: Fields = value
  if (!isName(requestId) || !isName(callId) || !isCount(requestedAt) || typeof supplied !== 'boolean')
    return false
  if (!isObject(child)) return false
  const { reference, agent, messageId, resumable }: Fields = child
  return isName(reference) && isName(agent) && isName(messageId) && typeof resumable === 'boolean'
}

function isGroup(value: unknown): boolean {
  return (
    isObject(value) && isName(value['callId']) && isListOf(value['references'], LIMITS.openChildren, isName)
  )
}

function isReport(value: unknown): boolean {
  if (!isObject(value)) return false
  const { report, invocations, kind, messageId }: Fields = value
  if (!isCount(report) || !areCallIds(invocations)) return false
  if (kind !== 'result' && kind !== 'failure' && kind !== 'notice') return false
  return messageId === undefined || isCallId(messageId)
}
