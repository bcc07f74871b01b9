/**
 * Turns as other runtimes count them: one submitted message, with one beginning and exactly one end.
 *
 * Owns: which turn begins, goes on and ends with an event of the log, and which turn's work a run goes on with. Does not own: what a view
 * calls a turn (Agent Runtime) or a task (Protolink).
 *
 * A run of ours may take several messages. Each is a turn, all end with the run, and what happens in the run belongs to the newest
 * of them. A run that nothing submitted began (a tool, an effect, `continue`) is a turn of its own, with the id of the run.
 */
import type { RunOutcome } from '../protocol/status.js'
import type { JsonObject, JsonValue } from '../protocol/values.js'
import { globalRunId, payloadOf, textOf, textsOf } from './view.js'
import type { ViewedFact } from './view.js'

/** How a turn ended: with its run, or before a run took it. */
export type TurnOutcome = RunOutcome | 'removed' | 'rejected' | 'refused'

export interface TurnState {
  /** Turns that wait for a run, in the order of their submission. */
  readonly waiting: readonly string[]
  /** Ids that the step which drains the queue has taken, of items of any kind. */
  readonly taken: readonly string[]
  /** The newest items whose fate is told: that they joined the queue may be told behind it, or again. */
  readonly told: readonly Told[]
  /** Turns of the run that goes on, the newest last. */
  readonly running: readonly string[]
  /** True while a step drains the queue: messages that are created then were submitted. */
  readonly isDraining: boolean
  /** The task that a run which has not completed has left; null: nothing. */
  readonly left: string | null
  /** The task of a run that goes on with what was left, until it takes a message: the turn that asked for the work. */
  readonly resumed: string | null
}

interface Told {
  readonly id: string
  /** How it ended, before it was known as a turn; null: it is one, and nothing more is to say of its beginning. */
  readonly outcome: TurnOutcome | null
}

export type TurnChange =
  | { readonly kind: 'submitted'; readonly turnId: string; readonly source: string }
  | { readonly kind: 'started'; readonly turnId: string }
  | {
      readonly kind: 'ended'
      readonly turnId: string
      readonly outcome: TurnOutcome
      readonly reason: string
    }

export const NO_TURNS: TurnState = {
  ...{ waiting: [], taken: [], told: [], running: [] },
  ...{ isDraining: false, left: null, resumed: null },
}

/** The newest turn of the run that goes on. */
export function currentTurn({ running }: TurnState): string | undefined {
  return running.at(-1)
}

type Applied = readonly [TurnState, readonly TurnChange[]]

/** Applies an event of the log to the turns of its thread. */
export function applyToTurns(state: TurnState, event: ViewedFact): Applied {
  return applyToTask(state, event, apply(state, event))
}

function apply(state: TurnState, event: ViewedFact): Applied {
  switch (event.type) {
    case 'queue.changed':
      return applyQueue(state, payloadOf(event))
    case 'run.started':
      return beginRun(state, event)
    case 'step.started':
      return [{ ...state, isDraining: true }, []]
    case 'step.phase':
      return event.payload.phase === 1 ? [{ ...state, isDraining: true }, []] : endDrain(state, false)
    case 'message.created':
      return state.isDraining || state.waiting.includes(event.messageId ?? '')
        ? startTurn(state, event.messageId ?? '')
        : [state, []]
    case 'run.completed':
      return endRun(state, 'completed', event.payload.reason)
    case 'run.failed':
      return endRun(state, 'failed', event.payload.reason)
    case 'run.cancelled':
      return endRun(state, 'cancelled', event.payload.reason)
    case 'thread.closed':
      return endAll(state, event.payload.outcome)
    default:
      return endMessage(state, event)
  }
}

function applyQueue(state: TurnState, { added, taken, removed }: JsonObject): Applied {
  let applied: Applied = [state, []]
  for (const item of addedItems(added)) applied = then(applied, (next) => submit(next, item))
  const [next, changes] = then(applied, (one) => endWaiting(one, textsOf(removed), 'removed'))
  return [{ ...next, taken: [...next.taken, ...textsOf(taken)] }, changes]
}

function then([state, changes]: Applied, apply: (state: TurnState) => Applied): Applied {
  const [next, more] = apply(state)
  return [next, [...changes, ...more]]
}

/**
 * A message that joins the queue. The report of a subagent is a turn once it is a message, under the id of that, and a queued tool
 * begins a run, which is one.
 */
function submit(state: TurnState, { id, kind }: { readonly id: string; readonly kind: string }): Applied {
  const outcome = state.told.find((one) => one.id === id)?.outcome
  const isKnown = outcome === null || state.waiting.includes(id) || state.running.includes(id)
  if (kind !== 'message' || isKnown) return [state, []]
  const submitted = { kind: 'submitted', turnId: id, source: kind } as const
  if (outcome === undefined) return [{ ...state, waiting: [...state.waiting, id] }, [submitted]]
  const ended = { kind: 'ended', turnId: id, outcome, reason: outcome } as const
  return [{ ...state, told: remember(state.told, [{ id, outcome: null }]) }, [submitted, ended]]
}

/** What a step took and did not put into the transcript was refused by a hook, or is no message. */
function endDrain(state: TurnState, isDraining: boolean): Applied {
  const [next, changes] = endWaiting({ ...state, taken: [] }, state.taken, 'refused')
  return [{ ...next, isDraining }, changes]
}

/** The log tells of an item at most an activity late: more than a hundred are never missing. */
const TOLD = 100

function remember(told: readonly Told[], more: readonly Told[]): readonly Told[] {
  if (more.length === 0) return told
  return [...told.filter(({ id }) => !more.some((one) => one.id === id)), ...more].slice(-TOLD)
}

function addedItems(added: JsonValue | undefined): readonly { readonly id: string; readonly kind: string }[] {
  if (!Array.isArray(added)) return []
  return added.flatMap((item) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return []
    const [id, kind] = [textOf(item['id']), textOf(item['kind'])]
    return id === null || kind === null ? [] : [{ id, kind }]
  })
}

function beginRun(state: TurnState, event: ViewedFact & { readonly type: 'run.started' }): Applied {
  const { trigger } = event.payload
  const draining = { ...state, isDraining: true }
  if (trigger === 'message' || trigger === 'report') return [draining, []]
  const turnId = globalRunId(event.threadId, event.runId ?? '')
  const [next, changes] = startTurn(draining, turnId)
  return [
    next,
    changes.map((change) => (change.kind === 'submitted' ? { ...change, source: trigger } : change)),
  ]
}

function startTurn(state: TurnState, turnId: string): Applied {
  if (state.running.includes(turnId)) return [state, []]
  const started = { kind: 'started', turnId } as const
  const running = [...state.running, turnId]
  const isOther = (id: string): boolean => id !== turnId
  const next = {
    ...{ ...state, running, waiting: state.waiting.filter(isOther), taken: state.taken.filter(isOther) },
    told: remember(state.told, [{ id: turnId, outcome: null }]),
  }
  if (state.waiting.includes(turnId)) return [next, [started]]
  return [next, [{ kind: 'submitted', turnId, source: 'message' }, started]]
}

function endRun(state: TurnState, outcome: RunOutcome, reason: string): Applied {
  const [drained, refused] = endDrain(state, false)
  const changes = state.running.map((turnId) => ({ kind: 'ended', turnId, outcome, reason }) as const)
  return [{ ...drained, running: [] }, [...refused, ...changes]]
}

/** A thread that closes rejects what waits; a run that did not end first has ended with it. */
function endAll(state: TurnState, outcome: string): Applied {
  const [ended, changes] = endRun(state, outcome === 'completed' ? 'completed' : 'cancelled', outcome)
  const [next, rejected] = endWaiting(ended, ended.waiting, 'rejected')
  return [next, [...changes, ...rejected]]
}

type Unstarted = Exclude<TurnOutcome, RunOutcome>

/** Ends turns that no run has taken. Of an item that is not known yet the end is remembered: it may be no message. */
function endWaiting(state: TurnState, ids: readonly string[], outcome: Unstarted): Applied {
  const ended = ids.filter((id) => state.waiting.includes(id))
  const known = new Set([...state.waiting, ...state.running, ...state.told.map(({ id }) => id)])
  const told = [
    ...ended.map((id) => ({ id, outcome: null })),
    ...ids.filter((id) => !known.has(id)).map((id) => ({ id, outcome })),
  ]
  return [
    { ...state, waiting: state.waiting.filter((id) => !ids.includes(id)), told: remember(state.told, told) },
    ended.map((turnId) => ({ kind: 'ended', turnId, outcome, reason: outcome }) as const),
  ]
}

/** A message that no run will take: `message.ended` says how it ended. */
function endMessage(state: TurnState, event: ViewedFact): Applied {
  const end = textOf(payloadOf(event)['end'])
  if ((event.type as string) !== 'message.ended' || event.messageId === undefined) return [state, []]
  return endWaiting(state, [event.messageId], end === 'rejected' || end === 'refused' ? end : 'removed')
}

/** What begins a run that goes on with the work of another one; all else asks for work of its own. */
const RESUMES: ReadonlySet<string> = new Set(['continue', 'variables'])

/** Which work the run is an attempt at. */
function applyToTask(before: TurnState, event: ViewedFact, [state, changes]: Applied): Applied {
  const { left, resumed } = before
  switch (event.type) {
    case 'run.started':
      return [{ ...state, resumed: RESUMES.has(event.payload.trigger) ? left : null }, changes]
    case 'run.completed':
      return [{ ...state, left: null, resumed: null }, changes]
    case 'run.failed':
    case 'run.cancelled':
      return [{ ...state, left: resumed ?? currentTurn(before) ?? null, resumed: null }, changes]
    default:
      return changes.some(({ kind }) => kind === 'started')
        ? [{ ...state, resumed: null }, changes]
        : [state, changes]
  }
}
