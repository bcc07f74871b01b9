import type { Client } from '@temporalio/client'

type HistoryEvent = NonNullable<
  Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>['events']
>[number]

/** The activity that calls a thread's model. */
const MODEL_CALL = 'thread.callModel'

/** Events and bytes that one step added to a history. */
export interface HistoryCost {
  readonly events: number
  readonly bytes: number
}

/** Where a workflow task began. */
export interface Place {
  readonly event: number
  /** Of everything before, by the server's own count. */
  readonly bytes: number
}

/** Where the workflow task began that scheduled a model call. */
interface StepPlace extends Place {
  /** Of that call. */
  readonly input: Uint8Array | undefined
}

/**
 * The cost of a step in a thread's newest turn, which made `modelCalls` model calls: the difference between the
 * beginnings of its second and of its last one, divided by the steps between, so that starting and settling a turn are
 * not in it. `modelCall` is the activity that calls the model.
 */
export async function historyCost(
  client: Client,
  workflowId: string,
  modelCalls: number,
  modelCall = MODEL_CALL,
): Promise<HistoryCost> {
  for await (const events of histories(client, workflowId)) {
    const places = stepPlaces(events, modelCall).slice(1 - modelCalls)
    const [first] = places
    const last = places.at(-1)
    if (first === undefined || last === undefined || places.length < modelCalls - 1) continue
    const steps = places.length - 1
    return { events: (last.event - first.event) / steps, bytes: (last.bytes - first.bytes) / steps }
  }
  throw new Error(`Expected a history of ${workflowId} with a turn of ${modelCalls} model calls.`)
}

/**
 * The same of a turn of which one activity does several steps: between the beginnings of its second and its last activity, by the
 * steps with which they began.
 */
export async function aheadHistoryCost(client: Client, workflowId: string): Promise<HistoryCost> {
  for await (const events of histories(client, workflowId)) {
    const places = stepPlaces(events).map((place) => ({ ...place, step: stepOf(place) }))
    const [first, ...others] = places.slice(places.findLastIndex(({ step }) => step === 1) + 1)
    const last = others.at(-1)
    if (first === undefined || last === undefined) continue
    const steps = last.step - first.step
    return { events: (last.event - first.event) / steps, bytes: (last.bytes - first.bytes) / steps }
  }
  throw new Error(`Expected a history of ${workflowId} with three activities of a turn.`)
}

/** One Temporal run of a thread. */
export interface TemporalRun {
  readonly runId: string | undefined
  readonly events: readonly HistoryEvent[]
}

/** All Temporal runs of a thread, newest first: it continues as new at the end of a turn, and within long ones. */
export async function* temporalRuns(client: Client, workflowId: string): AsyncIterable<TemporalRun> {
  let runId: string | undefined
  do {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory()
    const started = events?.[0]?.workflowExecutionStartedEventAttributes
    yield { runId: started?.originalExecutionRunId ?? runId, events: events ?? [] }
    runId = started?.continuedExecutionRunId || undefined
  } while (runId !== undefined)
}

/** The events of all of them. */
export async function* histories(client: Client, workflowId: string): AsyncIterable<readonly HistoryEvent[]> {
  for await (const { events } of temporalRuns(client, workflowId)) yield events
}

/** Where the workflow tasks began that scheduled a model call; the server notes the history's size in each. */
export function stepPlaces(events: readonly HistoryEvent[], modelCall = MODEL_CALL): readonly StepPlace[] {
  const tasks = new Map<string, Place>()
  const places: StepPlace[] = []
  for (const event of events) {
    const started = event.workflowTaskStartedEventAttributes
    const place = { event: Number(event.eventId), bytes: Number(started?.historySizeBytes ?? 0) }
    if (started) tasks.set(String(event.eventId), place)
    const completed = event.workflowTaskCompletedEventAttributes
    const task = tasks.get(String(completed?.startedEventId))
    if (task !== undefined) tasks.set(String(event.eventId), task)
    const scheduled = event.activityTaskScheduledEventAttributes
    const scheduler = tasks.get(String(scheduled?.workflowTaskCompletedEventId))
    if (scheduled?.activityType?.name !== modelCall || scheduler === undefined) continue
    places.push({ ...scheduler, input: scheduled.input?.payloads?.[0]?.data ?? undefined })
  }
  return places
}

/** The input of a thread's model call is JSON: no bench has a codec. */
function stepOf({ input = new Uint8Array() }: StepPlace): number {
  return (JSON.parse(Buffer.from(input).toString()) as { readonly step: number }).step
}
