import type { WorkflowHandle } from '@temporalio/client'
import { until } from './until.js'

type Events = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>

/** Completes the activity of this type that is in flight, as `temporal activity complete --result` does; the result is sent as it is. */
export async function completeActivity(workflow: WorkflowHandle, type: string, json: string): Promise<void> {
  const { client, ...activity } = await inFlight(workflow, type)
  const payload = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(json) }
  await client.workflowService.respondActivityTaskCompletedById({
    ...activity,
    result: { payloads: [payload] },
  })
}

/** Fails it for good, as `temporal activity fail` does. */
export async function failActivity(workflow: WorkflowHandle, type: string): Promise<void> {
  const { client, ...activity } = await inFlight(workflow, type)
  await client.workflowService.respondActivityTaskFailedById({
    ...activity,
    failure: {
      message: 'failed by an operator',
      source: 'CLI',
      applicationFailureInfo: { type: 'CLI-Failure', nonRetryable: true },
    },
  })
}

async function inFlight({ client, workflowId }: WorkflowHandle, type: string) {
  let activityId: string | null = null
  await until(`the activity ${type}`, async () => {
    const { events } = await client.getHandle(workflowId).fetchHistory()
    activityId = openActivity(events ?? [], type)
    return activityId !== null
  })
  const { namespace } = client.options
  return { client, namespace, workflowId, activityId: activityId ?? '', identity: 'operator' }
}

/** What has begun is in the history only when it has ended. */
function openActivity(events: Events, type: string): string | null {
  const ended = new Set(
    events.map(
      ({ activityTaskCompletedEventAttributes: completed, activityTaskFailedEventAttributes: failed }) =>
        String((completed ?? failed)?.scheduledEventId ?? ''),
    ),
  )
  const open = events.findLast(
    ({ eventId, activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled?.activityType?.name === type && !ended.has(String(eventId)),
  )
  return open?.activityTaskScheduledEventAttributes?.activityId ?? null
}
