import type { RecordedHistory } from './assert-replays.js'

interface KeptEvent {
  readonly eventId?: unknown
  readonly eventType?: unknown
  readonly activityTaskScheduledEventAttributes?: {
    readonly activityType?: { readonly name?: unknown } | null
  } | null
}

/** What is wrong with one history: where it is kept, which run, which event, and Temporal's own words. */
export function replayProblem(run: RecordedHistory, error: Error): string {
  return `- ${placeOf(run)}, ${eventOf(run, error)}:\n  ${error.message}`
}

/** All of them, and what to do about it. */
export function replayProblems(replayed: number, problems: readonly string[]): string {
  return [
    `Expected ${replayed} histories to replay, got ${problems.length} that do not:`,
    ...problems,
    'Threads with such a history would stand still on this version until one runs that replays it. What to do: ' +
      'if workflow code of yours was changed, guard the change with patched() of @temporalio/workflow; if Everthread was ' +
      'upgraded, stay on the version before and report the file (it holds no content); delete or record anew only ' +
      'histories of code that no open thread was started on.',
  ].join('\n')
}

function placeOf({ workflowId, runId, ...kept }: RecordedHistory): string {
  const { file, number, of } = kept as {
    readonly file?: string
    readonly number?: number
    readonly of?: number
  }
  const id = runId === undefined ? '' : `, Temporal's run id ${runId}`
  if (file === undefined) return `workflow ${workflowId}${id}`
  const workflow = workflowId === file ? '' : `, workflow ${workflowId}`
  return `${file}${workflow}, run ${number} of ${of}${id}`
}

/** Temporal names it by its number, if it knows which one it was. */
function eventOf({ history }: RecordedHistory, { message }: Error): string {
  const number = /HistoryEvent\(id: (\d+)|event(?: id)?[: ]+(\d+)/i.exec(message)?.slice(1).find(Boolean)
  if (number === undefined) return 'at an event that Temporal does not name'
  const { events = [] } = (history ?? {}) as { readonly events?: readonly KeptEvent[] }
  const event = events.find(({ eventId }) => String(eventId) === number)
  const activity = event?.activityTaskScheduledEventAttributes?.activityType?.name
  const type = typeof event?.eventType === 'string' ? ` (${event.eventType.replace('EVENT_TYPE_', '')}` : ''
  const named = typeof activity === 'string' ? `${type} ${activity}` : type
  return `event ${number}${named === '' ? '' : `${named})`}`
}
