/**
 * A view of the event log: what another runtime's reader would have seen of the same thread.
 *
 * Owns: what a view is, and what all views share: their subject, the ids that they make, and the numbers of their events. Does not own:
 * the log (`protocol/events.ts`), how it is read (`client/events`), and the words of each runtime (a file each).
 *
 * Invariants:
 * - A view is pure: a state that is JSON, and a function of state and event. It reads no store, no clock and no module of Node.
 * - Which events come of one depends on stored fields only, never on those that delivery adds: the state behind a cursor is made again
 *   from the log without its texts, and the numbers of events do not depend on where a reader began.
 * - A type that a view does not know makes no error.
 */
import type { JoinedFact, ThreadEvent } from '../protocol/events.js'
import type { JsonObject, JsonValue } from '../protocol/values.js'

/** The thread that a view is of. */
export interface ViewSubject {
  readonly threadId: string
  /** The id of its session: of the root thread of its tree. */
  readonly sessionId: string
  /** The id of the runtime, the same over restarts of its processes; left out: unknown. */
  readonly runtimeId?: string
  /** The agent that the thread had at its beginning. */
  readonly agent: string
}

/** What is seen while it happens. No view needs its cursor. */
type Live = WithoutCursor<Extract<ThreadEvent, { readonly sequence?: undefined }>>

type WithoutCursor<Event> = Event extends unknown ? Omit<Event, 'cursor'> : never

/** An event as a view takes it: with or without a cursor, and with ids of a trace where telemetry has recorded them. */
export type ViewedFact = (JoinedFact | Live) & {
  readonly sessionId?: string
  readonly runtimeId?: string
  readonly traceId?: string
  readonly spanId?: string
}

/** A view: `take` gives the next state, and the events that one event of the log makes, in order. */
export interface View<State, Viewed> {
  /** The state before the first event of the log. */
  readonly begin: State
  take(state: State, event: ViewedFact): readonly [State, readonly Viewed[]]
}

/** Ids of our runs are unique in their thread only. */
export function globalRunId(threadId: string, runId: string): string {
  return `${threadId}:${runId}`
}

/** The payload of an event as JSON, with fields that later versions add. */
export function payloadOf({ payload }: ViewedFact): JsonObject {
  // The log is JSON, whose types have no index.
  return payload as unknown as JsonObject
}

/** A text of a payload; null if there is none. */
export function textOf(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null
}

/** The texts of a list in a payload. */
export function textsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

/** The id of one of the events that an event of the log makes: unique, and the same for each reader. */
export function viewedId(event: ViewedFact, index: number): string {
  const { eventId, threadId, messageId = '', type, payload } = event
  if (eventId !== undefined) return index === 0 ? eventId : `${eventId}.${index}`
  const { attempt, offset } = payload as { readonly attempt: number; readonly offset: number }
  return `${threadId}:${messageId}:${attempt}:${type}:${offset}`
}
