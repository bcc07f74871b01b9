import type { Client } from '@temporalio/client'

type HistoryEvent = NonNullable<
  Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>['events']
>[number]

/** Events and bytes that one step added to a history. */
export interface HistoryCost {
  readonly events: number
  readonly bytes: number
}

interface Place {
  readonly event: number
  /** Of everything before, by the server's own count. */
  readonly bytes: number
}

/**
 * The cost of a step in a thread's newest turn, which made `modelCalls` model calls: the difference between the
 * beginnings of its second and of its last one, divided by the steps between, so that starting and settling a turn are
 * not in it.
 */
export async function historyCost(
  client: Client,
  workflowId: string,
  modelCalls: number,
): Promise<HistoryCost> {
  for await (const events of histories(client, workflowId)) {
    const places = stepPlaces(events).slice(1 - modelCalls)
    const [first] = places
    const last = places.at(-1)
    if (first === undefined || last === undefined || places.length < modelCalls - 1) continue
    const steps = places.length - 1
    return { events: (last.event - first.event) / steps, bytes: (last.bytes - first.bytes) / steps }
  }
  throw new Error(`Expected a history of ${workflowId} with a turn of ${modelCalls} model calls.`)
}

/** The events of all Temporal runs of a thread, newest run first: it continues as new at the end of a turn. */
export async function* histories(client: Client, workflowId: string): AsyncIterable<readonly HistoryEvent[]> {
  let runId: string | null | undefined
  do {
    const { events } = await client.workflow.getHandle(workflowId, runId ?? undefined).fetchHistory()
    yield events ?? []
    runId = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId
  } while (runId)
}

/** Where the workflow tasks began that scheduled a model call; the server notes the history's size in each. */
function stepPlaces(events: readonly HistoryEvent[]): readonly Place[] {
  const tasks = new Map<string, Place>()
  const places: Place[] = []
  for (const event of events) {
    const started = event.workflowTaskStartedEventAttributes
    const place = { event: Number(event.eventId), bytes: Number(started?.historySizeBytes ?? 0) }
    if (started) tasks.set(String(event.eventId), place)
    const completed = event.workflowTaskCompletedEventAttributes
    const task = tasks.get(String(completed?.startedEventId))
    if (task !== undefined) tasks.set(String(event.eventId), task)
    const scheduled = event.activityTaskScheduledEventAttributes
    const scheduler = tasks.get(String(scheduled?.workflowTaskCompletedEventId))
    if (scheduled?.activityType?.name === 'thread.callModel' && scheduler !== undefined)
      places.push(scheduler)
  }
  return places
}
