/**
 * Continue-as-new, and the state that a Temporal run starts with: of a new thread, carried from the run before, or, of a thread
 * that was lost, read from its rows.
 *
 * It owns: when a thread continues as new, and the packed form of the carried state. It does not own: the shape of the control
 * state (`control.ts`).
 * Invariants: a thread continues as new only when nothing is in flight, and never twice in a row without progress. Of a lost
 * thread every number goes on behind those in use, so that nothing finished runs again (T4); a run that was interrupted is
 * followed by another one of the same side.
 */
import type { Millis } from '../protocol/time.js'
import { LIMITS } from '../protocol/limits.js'
import type { ReopenedThread, ThreadStart } from '../protocol/messages.js'
import { awaitGroup } from './children.js'
import type { Child, DeferredChild, OpenChild, Report, ThreadControl } from './control.js'
import { goOn, packEntry, unpackEntry } from './inbox.js'
import type { PackedEntry } from './inbox.js'
import { createRun, endingOf } from './run.js'

/** After a worker died or evicted a thread, the next one replays its history: that takes some 0.3 s at this size (decision 43). */
export const HISTORY_EVENTS = 500

/** The share of the idle bounds that a run may have reached when it ends: storing its end takes some twenty events. */
const ENDS_BELOW = 0.8

interface HistorySize {
  readonly events: number
  readonly bytes: number
}

/** What the workflow knows of its own history. */
export interface HistoryFacts extends HistorySize {
  /** As it was when the last action began. */
  readonly atLastAction: HistorySize
  /** Bytes when it began, mostly the carried state, which the next history has again. */
  readonly began: number
  readonly signals: number
  readonly suggested: boolean
}

/**
 * Whether the thread continues as new now. A task without commands is replayed together with the empty tasks after it, whose
 * events it sees too (docs/decisions/0052), so a thread at rest decides by the history at its last action, whose task had a command.
 */
export function shouldContinueAsNew(control: ThreadControl, history: HistoryFacts): boolean {
  if (cannotContinueAsNew(control)) return false
  // Skipped signals are no progress, but count for Temporal, which refuses the 10,001st of a run (T10).
  if (history.signals >= LIMITS.signalsPerRun) return true
  if (!control.progressed) return false
  const { run, queue, start } = control
  const isIdle = run === null && queue.length === 0
  const { events, bytes } = isIdle ? history.atLastAction : history
  if (events >= (start.limits?.historyEvents ?? HISTORY_EVENTS)) return true
  if (isIdle) return isAbove({ events, bytes, began: history.began }, 1)
  if (history.suggested) return true
  // Before the end of a run is stored, not after it: a query to a run that has just continued as new needs a replay of its history.
  return queue.length === 0 && endingOf(control) !== null && isAbove(history, ENDS_BELOW)
}

/** Outbound signals are sent before anything else, so they need no share of the carried state. */
function cannotContinueAsNew({ terminating, closing, outbound }: ThreadControl): boolean {
  return terminating || closing !== null || outbound.length > 0
}

function isAbove({ events, bytes, began }: HistorySize & { readonly began: number }, part: number): boolean {
  return events > LIMITS.idleHistoryEvents * part || bytes - began > LIMITS.idleHistoryBytes * part
}

const STATE_VERSION = 3

/** The state of a new thread. */
export function initialControl(threadId: string, start: ThreadStart, now: Millis): ThreadControl {
  return {
    stateVersion: STATE_VERSION,
    threadId,
    start,
    createdAt: now,
    registered: false,
    agent: start.agent,
    plan: null,
    queue: [],
    queueBytes: 0,
    itemsNumbered: 0,
    runs: start.runs ?? 0,
    run: null,
    stopped: false,
    commands: [],
    terminating: false,
    closing: null,
    report: null,
    children: [],
    earlyReports: [],
    childrenInAll: 0,
    outbound: [],
    activated: [],
    invocations: [],
    reports: 0,
    childChecks: 0,
    postponed: null,
    effects: [],
    givenUp: [],
    request: null,
    settles: 0,
    facts: [],
    factsDropped: 0,
    unansweredFacts: [],
    lastRun: null,
    progressed: true,
  }
}

/** The state that the next Temporal run starts with, beside the start input. */
export interface CarriedControl extends Omit<
  ThreadControl,
  | 'start'
  | 'queue'
  | 'commands'
  | 'effects'
  | 'givenUp'
  | 'unansweredFacts'
  | 'earlyReports'
  | 'children'
  | 'postponed'
> {
  readonly queue: readonly PackedEntry[]
  readonly children: readonly PackedChild[]
  /** Ids and due times. */
  readonly effects: readonly (readonly [string, number])[]
  /** Left out when there are none, as nearly always. */
  readonly givenUp?: readonly string[]
  readonly commands?: readonly string[]
  readonly unansweredFacts?: ThreadControl['unansweredFacts']
  readonly earlyReports?: ThreadControl['earlyReports']
  /** Left out, except for a moment after a reset. */
  readonly postponed?: NonNullable<ThreadControl['postponed']>
}

/** The state as the next Temporal run starts with it. */
export function carry(given: ThreadControl): CarriedControl {
  const { start: _given, givenUp, commands, unansweredFacts, earlyReports, postponed, ...control } = given
  return {
    ...control,
    ...(givenUp.length > 0 && { givenUp }),
    ...(commands.length > 0 && { commands }),
    ...(unansweredFacts.length > 0 && { unansweredFacts }),
    ...(earlyReports.length > 0 && { earlyReports }),
    ...(postponed !== null && { postponed }),
    queue: control.queue.map(packEntry),
    effects: control.effects.map(({ id, dueAt }) => [id, dueAt] as const),
    children: control.children.map(packChild),
    progressed: false,
  }
}

/**
 * Takes over a carried state. A state of another version is an error, which fails the workflow task, so that a worker of that
 * version retries it.
 */
export function restore(carried: CarriedControl, start: ThreadStart): ThreadControl {
  if (carried.stateVersion !== STATE_VERSION)
    throw new Error(`Expected a carried state of version ${STATE_VERSION}, got ${carried.stateVersion}.`)
  return {
    ...carried,
    start,
    givenUp: carried.givenUp ?? [],
    commands: carried.commands ?? [],
    unansweredFacts: carried.unansweredFacts ?? [],
    earlyReports: carried.earlyReports ?? [],
    postponed: carried.postponed ?? null,
    queue: carried.queue.map(unpackEntry),
    effects: carried.effects.map(([id, dueAt]) => ({ id, dueAt })),
    children: carried.children.map(unpackChild),
  }
}

/** A child as it is carried; its close event does not reach the next Temporal run. */
type PackedChild =
  | readonly [
      state: 'o',
      reference: string,
      resumable: 0 | 1,
      /** A call whose answer is that of a group stands in a list of its own. */
      owes: readonly (string | readonly [string])[],
      reports: number,
      checks: number,
      nextCheckAt: Millis,
    ]
  | readonly [
      state: 'd' | 's' | 'e',
      requestId: string,
      callId: string,
      child: readonly [reference: string, agent: string, messageId: string, resumable: 0 | 1],
      requestedAt: Millis,
      expiresAt: Millis,
    ]
  | readonly [state: 'c', reference: string, status: string]

const REQUEST_TAGS = { open: 'd', supplied: 's', expired: 'e' } as const

const REQUESTS = { d: 'open', s: 'supplied', e: 'expired' } as const

function packChild(child: Child): PackedChild {
  switch (child.state) {
    case 'open': {
      const { reference, resumable, owes, reports, checks, nextCheckAt } = child
      const packed = owes.map(({ callId, isGrouped }) => (isGrouped ? ([callId] as const) : callId))
      return ['o', reference, resumable ? 1 : 0, packed, reports, checks, nextCheckAt]
    }
    case 'deferred': {
      const { requestId, callId, requestedAt, expiresAt, request } = child
      const { reference, agent, messageId, resumable } = child
      const packed = [reference, agent, messageId, resumable ? 1 : 0] as const
      return [REQUEST_TAGS[request], requestId, callId, packed, requestedAt, expiresAt]
    }
    case 'closed':
      return ['c', child.reference, child.status]
  }
}

function unpackChild(packed: PackedChild): Child {
  switch (packed[0]) {
    case 'o': {
      const [, reference, resumable, owed, reports, checks, nextCheckAt] = packed
      const owes = owed.map((one) =>
        typeof one === 'string' ? { callId: one, isGrouped: false } : { callId: one[0], isGrouped: true },
      )
      const open = { reference, resumable: resumable === 1, owes, reports, checks, nextCheckAt }
      return { state: 'open', ...open, observed: false }
    }
    case 'c':
      return { state: 'closed', reference: packed[1], status: packed[2] }
    default: {
      const [tag, requestId, callId, child, requestedAt, expiresAt] = packed
      const [reference, agent, messageId, resumable] = child
      const prepared = { reference, agent, messageId, resumable: resumable === 1 }
      const request = REQUESTS[tag]
      return { state: 'deferred', ...prepared, requestId, callId, requestedAt, expiresAt, request }
    }
  }
}

/** Reopens a lost thread from its rows. Items of its queue are not there: they are signalled again. */
export function reopenThread(control: ThreadControl, reopened: ReopenedThread, now: Millis): ThreadControl {
  const { agent, runs, settles, reports, items, children, activated, invocations, lastRun } = reopened
  const known: ThreadControl = {
    ...control,
    ...{ agent, runs, settles, reports, activated, invocations, registered: true },
    itemsNumbered: items,
    childrenInAll: children,
    stopped: reopened.stopped === true,
    children: [
      ...reopened.open.map((child) => reopenChild(child, now)),
      ...reopened.deferred.map(reopenDeferred),
    ],
    effects: reopened.effects.map(([id, dueAt]) => ({ id, dueAt })),
    request: requestOf(reopened),
    report: reportOf(reopened),
    // A child that has sent its last report was about to close, and closes.
    terminating: reopened.report?.closes === true,
    lastRun: lastRun ?? null,
  }
  const grouped = reopened.groups.reduce((next, group) => awaitGroup(next, group, now), known)
  const { side } = reopened
  if (side === undefined || grouped.terminating) return grouped
  const going = goOn(grouped, now)
  const run = createRun({ number: going.runs + 1, trigger: 'continue', stop: null })
  return { ...going, runs: run.number, run: { ...run, side } }
}

/** The close event of the child does not reach this Temporal run, so it is checked at once if it owes an answer (T7). */
function reopenChild({ invocations, ...child }: ReopenedThread['open'][number], now: Millis): OpenChild {
  const owes = invocations.map((callId) => ({ callId, isGrouped: false }))
  return { state: 'open', ...child, owes, observed: false, checks: 0, nextCheckAt: now }
}

function reopenDeferred({ child, supplied, ...asked }: ReopenedThread['deferred'][number]): DeferredChild {
  const expiresAt = asked.requestedAt + LIMITS.deferredChild
  return { state: 'deferred', ...child, ...asked, expiresAt, request: supplied ? 'supplied' : 'open' }
}

function requestOf({ request }: ReopenedThread): ThreadControl['request'] {
  return request === undefined ? null : { ...request, kind: 'variables', toolName: null }
}

function reportOf({ report }: ReopenedThread): Report | null {
  if (report === undefined) return null
  const { report: number, kind, messageId, invocations, closes } = report
  return {
    ...{ number, kind, invocations, announced: false },
    messageId: messageId ?? null,
    closes: closes === true,
  }
}
