/**
 * What the newest events of a thread say about what it does now.
 *
 * Owns: the phase of its step, the request and turn that go on, and what its newest run has used up. Does not own: its status, which is the
 * snapshot's.
 */
import { isRunEnd } from '../../protocol/facts.js'
import { isStreaming } from '../../store/messages/deltas.js'
import type { StoredEvent } from '../../store/event-rows.js'
import type { Reader } from '../../store/store.js'
import { applyToTurns, currentTurn, NO_TURNS } from '../../views/turns.js'
import type { ViewedFact } from '../../views/view.js'
import { readNewestEvents } from '../lists/thread-routing.js'

interface NewestFacts {
  readonly events: readonly StoredEvent[]
  /** The phase of the step that goes on; null: no step does. */
  readonly phase: number | null
  /** The attempt of the request that goes on; null: none does. */
  readonly attempt: number | null
  /** Text of that request has arrived. */
  readonly isStreaming: boolean
  /** The limits of budgets that the newest run has used up. */
  readonly exceeded: readonly string[]
  /** The turn that goes on; null: none does. `unknown`: it began before these events. */
  readonly turnId: string | null
}

/** Reads them from the store, in a read of the caller. */
export async function readNewestFacts(db: Reader, threadId: string): Promise<NewestFacts> {
  const events = await readNewestEvents(db, threadId)
  const request = openRequest(events)
  const messageId = request?.scope.messageId
  const attempt = request?.payload['attempt']
  return {
    events,
    phase: phaseOf(events),
    attempt: typeof attempt === 'number' ? attempt : null,
    isStreaming: messageId !== undefined && (await isStreaming(db, { threadId, messageId })),
    exceeded: exceededLimits(events),
    turnId: turnOf(events, threadId),
  }
}

const REQUESTS: readonly string[] = ['model.requested', 'model.completed', 'model.failed']

/** The newest request, if nothing has ended it. */
function openRequest(events: readonly StoredEvent[]): StoredEvent | null {
  const last = events.findLast(({ type }) => REQUESTS.includes(type) || isRunEnd(type))
  return last?.type === 'model.requested' ? last : null
}

function phaseOf(events: readonly StoredEvent[]): number | null {
  const last = events.findLast(
    ({ type }) => type === 'step.phase' || type === 'step.completed' || isRunEnd(type),
  )
  const phase = last?.payload['phase']
  return typeof phase === 'number' ? phase : null
}

function exceededLimits(events: readonly StoredEvent[]): readonly string[] {
  const began = events.findLastIndex(({ type }) => type === 'run.started')
  return events.slice(Math.max(0, began)).flatMap(({ type, payload: { limit } }) => {
    return type === 'budget.exceeded' && typeof limit === 'string' ? [limit] : []
  })
}

/** A run has hundreds of events at most before its turn is known, so the newest thousand have nearly always its beginning. */
function turnOf(events: readonly StoredEvent[], threadId: string): string | null {
  let turns = NO_TURNS
  for (const { type, scope, payload } of events)
    // What a turn is made of needs no more than this.
    [turns] = applyToTurns(turns, { type, ...scope, threadId, payload } as unknown as ViewedFact)
  return currentTurn(turns) ?? null
}
