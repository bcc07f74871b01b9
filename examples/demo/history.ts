import type { ThreadHandle, ThreadClient } from 'everthread/client'

import { heading, table } from './terminal.ts'

/** The cost of a conversation, counted in its Temporal history. */
export interface HistoryCounts {
  readonly steps: number
  readonly activities: number
  readonly events: number
  readonly bytes: number
  readonly milliseconds: number
}

/** Counts the history of a thread, over all its runs in Temporal. */
export async function countHistory(threads: ThreadClient, thread: ThreadHandle): Promise<HistoryCounts> {
  const { runId: newest } = await thread.workflow.describe()
  const runs: RunHistory[] = []
  // A long conversation continues in a new run, whose first event names the previous one.
  for (let runId: string | undefined = newest; runId; runId = runs.at(-1)?.before)
    runs.push(await readRun(threads, thread.threadId, runId))
  const events = runs.flatMap((run) => run.events)
  const activities = events.flatMap((event) => event.activityTaskScheduledEventAttributes ?? [])
  const times = events.map(
    ({ eventTime }) => Number(eventTime?.seconds) * 1000 + (eventTime?.nanos ?? 0) / 1e6,
  )
  return {
    steps: activities.filter(({ activityType }) => activityType?.name === 'thread.callModel').length,
    activities: activities.length,
    events: events.length,
    bytes: runs.reduce((sum, { bytes }) => sum + bytes, 0),
    milliseconds: Math.max(...times) - Math.min(...times),
  }
}

type RunHistory = Awaited<ReturnType<typeof readRun>>

async function readRun(threads: ThreadClient, threadId: string, runId: string) {
  const handle = threads.temporal.workflow.getHandle(threadId, runId)
  const [{ historySize }, history] = await Promise.all([handle.describe(), handle.fetchHistory()])
  const events = history.events ?? []
  const before = events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId
  return { events, bytes: historySize ?? 0, before: before || undefined }
}

export function showCounts(counts: Readonly<Record<string, HistoryCounts>>): void {
  heading("Counts, from Temporal's history")
  table([
    ['thread', 'steps', 'activities', 'events', 'history', 'time'],
    ...Object.entries(counts).map(([name, { steps, activities, events, bytes, milliseconds }]) => [
      name,
      String(steps),
      String(activities),
      String(events),
      `${(bytes / 1024).toFixed(1)} KB`,
      `${(milliseconds / 1000).toFixed(1)} s`,
    ]),
  ])
}
