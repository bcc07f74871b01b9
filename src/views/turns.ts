/**
 * Turns as other runtimes count them: one submitted message, with one beginning and exactly one end.
 *
 * Owns: which turn begins, goes on and ends with an event of the log. Does not own: what a view calls a turn (Agent Runtime) or a task
 * (Protolink).
 *
 * A run of ours may take several messages. Each is a turn, all end with the run, and what happens in the run belongs to the newest
 * of them. A run that nothing submitted began (a tool, an effect, `continue`) is a turn of its own, with the id of the run.
 */
import type { RunOutcome } from '../protocol/status.js'
import type { JsonObject, JsonValue } from '../protocol/values.js'
import { globalRunId, payloadOf, textOf } from './view.js'
import type { ViewedFact } from './view.js'

/** How a turn ended: with its run, or before a run took it. */
export type TurnOutcome = RunOutcome | 'removed' | 'rejected' | 'refused'

export interface TurnState {
  /** Turns that wait for a run, in the order of their submission. */
  readonly waiting: readonly string[]
  /** Turns of the run that goes on, the newest last. */
  readonly running: readonly string[]
  /** Messages that ended lately: what the workflow says of the queue may be stored after what a step or a caller did with it. */
  readonly ended: readonly string[]
  /** True while a step drains the queue: messages that are created then were submitted. */
  readonly isDraining: boolean
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

export const NO_TURNS: TurnState = { waiting: [], running: [], ended: [], isDraining: false }

/** As many as a queue holds. */
const REMEMBERED = 1_000

/** The newest turn of the run that goes on. */
export function currentTurn({ running }: TurnState): string | undefined {
  return running.at(-1)
}

type Applied = readonly [TurnState, readonly TurnChange[]]

/** Applies an event of the log to the turns of its thread. */
export function applyToTurns(state: TurnState, event: ViewedFact): Applied {
  switch (event.type) {
    case 'queue.changed':
      return applyQueue(state, payloadOf(event))
    case 'run.started':
      return beginRun(state, event)
    case 'step.started':
      return [{ ...state, isDraining: true }, []]
    case 'step.phase':
      return [{ ...state, isDraining: event.payload.phase === 1 }, []]
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

/** Messages and reports are turns; a queued tool begins a run, which is one. */
const SUBMITTED: ReadonlySet<string> = new Set(['message', 'report'])

function applyQueue(state: TurnState, { added }: JsonObject): Applied {
  const submitted = addedItems(added).filter(({ id, kind }) => SUBMITTED.has(kind) && !isKnown(state, id))
  const waiting = [...state.waiting, ...submitted.map(({ id }) => id)]
  const changes = submitted.map(({ id, kind }) => ({ kind: 'submitted', turnId: id, source: kind }) as const)
  return [{ ...state, waiting }, changes]
}

function addedItems(added: JsonValue | undefined): readonly { readonly id: string; readonly kind: string }[] {
  if (!Array.isArray(added)) return []
  return added.flatMap((item) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return []
    const [id, kind] = [textOf(item['id']), textOf(item['kind'])]
    return id === null || kind === null ? [] : [{ id, kind }]
  })
}

function isKnown({ waiting, running, ended }: TurnState, id: string): boolean {
  return waiting.includes(id) || running.includes(id) || ended.includes(id)
}

function withEnded(state: TurnState, ids: readonly string[]): TurnState {
  return { ...state, ended: [...state.ended, ...ids].slice(-REMEMBERED) }
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
  if (!state.waiting.includes(turnId))
    return [{ ...state, running }, [{ kind: 'submitted', turnId, source: 'message' }, started]]
  return [{ ...state, running, waiting: state.waiting.filter((id) => id !== turnId) }, [started]]
}

function endRun(state: TurnState, outcome: RunOutcome, reason: string): Applied {
  const changes = state.running.map((turnId) => ({ kind: 'ended', turnId, outcome, reason }) as const)
  return [withEnded({ ...state, running: [], isDraining: false }, state.running), changes]
}

/** A thread that closes rejects what waits; a run that did not end first has ended with it. */
function endAll(state: TurnState, outcome: string): Applied {
  const [ended, changes] = endRun(state, outcome === 'completed' ? 'completed' : 'cancelled', outcome)
  const [next, rejected] = endWaiting(ended, ended.waiting, { outcome: 'rejected', reason: outcome })
  return [next, [...changes, ...rejected]]
}

interface Ending {
  readonly outcome: TurnOutcome
  readonly reason: string
}

function endWaiting(state: TurnState, ids: readonly string[], { outcome, reason }: Ending): Applied {
  const ended = state.waiting.filter((id) => ids.includes(id))
  const waiting = state.waiting.filter((id) => !ids.includes(id))
  const changes = ended.map((turnId) => ({ kind: 'ended', turnId, outcome, reason }) as const)
  return [withEnded({ ...state, waiting }, ended), changes]
}

/** A message that no run will take, also before the log has said that it joined the queue: `message.ended` says how it ended. */
function endMessage(state: TurnState, event: ViewedFact): Applied {
  // A queued tool is no turn: the run that it begins is one.
  if (event.type !== 'message.ended' || event.messageId === undefined || event.toolCallId !== undefined)
    return [state, []]
  const { messageId: turnId, payload } = event
  const outcome = UNDELIVERED.find((end) => end === payload.end) ?? 'removed'
  if (state.ended.includes(turnId)) return [state, []]
  const ending = { outcome, reason: payload.end }
  if (state.waiting.includes(turnId)) return endWaiting(state, [turnId], ending)
  const submitted = { kind: 'submitted', turnId, source: 'message' } as const
  return [withEnded(state, [turnId]), [submitted, { kind: 'ended', turnId, ...ending }]]
}

const UNDELIVERED = ['rejected', 'refused', 'removed'] as const
