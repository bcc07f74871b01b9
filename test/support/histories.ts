import type { Client } from '@temporalio/client'
import { fetchHistories } from '../../src/testing/record-histories.js'
import type { FetchedRun } from '../../src/testing/record-histories.js'
import { MARKER } from './marker.js'

/** One Temporal run of a thread. */
export type RecordedRun = FetchedRun

type HistoryEvent = NonNullable<RecordedRun['history']['events']>[number]

/** All Temporal runs of a thread, the first one first, through continue-as-new. */
export function recordedRuns(client: Client, workflowId: string): Promise<readonly RecordedRun[]> {
  return fetchHistories(client.workflow, workflowId)
}

/** What happened to one activity of a thread, in the order of the events. */
export interface ActivityEvent {
  readonly kind: 'scheduled' | 'cancel_requested' | 'ended'
  readonly activity: string
}

export function activityEvents(runs: readonly RecordedRun[]): readonly ActivityEvent[] {
  return runs.flatMap(({ history }) => {
    const scheduled = new Map<string, string>()
    return (history.events ?? []).flatMap((event) => activityEvent(event, scheduled))
  })
}

/** The names of all activities that were scheduled, in order. */
export function activityNames(runs: readonly RecordedRun[]): readonly string[] {
  return activityEvents(runs).flatMap(({ kind, activity }) => (kind === 'scheduled' ? [activity] : []))
}

/** The largest number of activities of a thread that were in flight at once. */
export function activitiesAtOnce(runs: readonly RecordedRun[]): number {
  let inFlight = 0
  let most = 0
  for (const { kind } of activityEvents(runs)) {
    if (kind === 'scheduled') inFlight += 1
    if (kind === 'ended') inFlight -= 1
    most = Math.max(most, inFlight)
  }
  return most
}

function activityEvent(event: HistoryEvent, names: Map<string, string>): readonly ActivityEvent[] {
  const scheduled = event.activityTaskScheduledEventAttributes
  if (scheduled != null) {
    names.set(String(event.eventId), scheduled.activityType?.name ?? '')
    return [{ kind: 'scheduled', activity: scheduled.activityType?.name ?? '' }]
  }
  const requested = event.activityTaskCancelRequestedEventAttributes
  if (requested != null)
    return [{ kind: 'cancel_requested', activity: names.get(String(requested.scheduledEventId)) ?? '' }]
  const ended =
    event.activityTaskCompletedEventAttributes ??
    event.activityTaskFailedEventAttributes ??
    event.activityTaskTimedOutEventAttributes ??
    event.activityTaskCanceledEventAttributes
  return ended == null ? [] : [{ kind: 'ended', activity: names.get(String(ended.scheduledEventId)) ?? '' }]
}

export interface Search {
  readonly bytes: number
  /** Workflow id and event of everything that holds the marker. */
  readonly leaks: readonly string[]
}

/** Looks for the marker in all that a history holds: inputs, results, failures, memos, details. */
/** @param passOver `thread/signal` or `thread/start` where a sender chose to put content inline */
export function searchForContent(runs: readonly RecordedRun[], passOver: readonly string[] = []): Search {
  return searchFor(MARKER, runs, passOver)
}

/** Looks for these words in all that a history holds. */
export function searchFor(
  words: string,
  runs: readonly RecordedRun[],
  passOver: readonly string[] = [],
): Search {
  let bytes = 0
  const leaks: string[] = []
  for (const { workflowId, history } of runs) {
    for (const event of history.events ?? []) {
      const text = readable(event)
      bytes += text.length
      const started = event.workflowExecutionStartedEventAttributes
      const name = started == null ? event.workflowExecutionSignaledEventAttributes?.signalName : 'start'
      const inline = name != null && passOver.includes(`${workflowId}/${name}`)
      if (text.includes(words) && !inline) leaks.push(`${workflowId} event ${String(event.eventId)}: ${text}`)
    }
  }
  return { bytes, leaks }
}

/** Payloads are bytes: as text, or base64 would hide what is in them. */
function readable(event: HistoryEvent): string {
  return JSON.stringify(event, (_key, value: unknown) => {
    if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8')
    const { type, data } = (value ?? {}) as { type?: unknown; data?: unknown }
    return type === 'Buffer' && Array.isArray(data) ? Buffer.from(data as number[]).toString('utf8') : value
  })
}
