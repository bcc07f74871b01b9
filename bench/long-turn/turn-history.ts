import type { Client } from '@temporalio/client'

import { stepPlaces, temporalRuns } from '../step/history-cost.js'
import type { TemporalRun } from '../step/history-cost.js'

/** What the newest turn of a thread added to its history, by the server's own count. */
export interface TurnHistory {
  readonly events: number
  readonly bytes: number
  /** Within the turn. */
  readonly continuedAsNew: number
}

/**
 * From the workflow task that scheduled the turn's first model call to the last one that began: of a turn that continued
 * as new, what the next Temporal run starts with is in it.
 */
export async function turnHistory(
  client: Client,
  workflowId: string,
  modelCalls: number,
): Promise<TurnHistory> {
  let left = modelCalls
  let runs = 0
  let events = 0
  let bytes = 0
  for await (const run of temporalRuns(client, workflowId)) {
    const places = stepPlaces(run.events)
    // What a thread continues as after its turn has no model call yet.
    if (places.length === 0) continue
    runs += 1
    const begin = left < places.length ? places[places.length - left] : undefined
    events += run.events.length - (begin?.event ?? 0)
    bytes += bytesOf(run) - (begin?.bytes ?? 0)
    left -= places.length
    if (left <= 0) return { events, bytes, continuedAsNew: runs - 1 }
  }
  throw new Error(`Expected ${modelCalls} model calls in the history of ${workflowId}, got ${left} less.`)
}

/** Of all Temporal runs of a thread. */
export async function threadHistoryBytes(client: Client, workflowId: string): Promise<number> {
  let bytes = 0
  for await (const { runId } of temporalRuns(client, workflowId)) {
    const { raw } = await client.workflow.getHandle(workflowId, runId).describe()
    bytes += Number(raw.workflowExecutionInfo?.historySizeBytes ?? 0)
  }
  return bytes
}

/** When its last workflow task began. */
function bytesOf({ events }: TemporalRun): number {
  return Math.max(
    ...events.map(({ workflowTaskStartedEventAttributes: task }) => Number(task?.historySizeBytes ?? 0)),
  )
}
