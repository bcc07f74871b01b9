import { expect, test } from 'vitest'
import { eventsOf, findFailingTask } from './assert-replays.js'

const scheduled = { workflowTaskCompletedEventId: '3', activityType: { name: 'thread.callModel' } }

/** A start, then two activities one after the other, each scheduled by a workflow task. */
const events = [
  { eventType: 'WORKFLOW_EXECUTION_STARTED', workflowExecutionStartedEventAttributes: {} },
  { eventType: 'WORKFLOW_TASK_SCHEDULED', workflowTaskScheduledEventAttributes: {} },
  { eventType: 'WORKFLOW_TASK_COMPLETED', workflowTaskCompletedEventAttributes: {} },
  { eventType: 'ACTIVITY_TASK_SCHEDULED', activityTaskScheduledEventAttributes: scheduled },
  { eventType: 'ACTIVITY_TASK_COMPLETED', activityTaskCompletedEventAttributes: { scheduledEventId: '4' } },
  { eventType: 'WORKFLOW_TASK_SCHEDULED', workflowTaskScheduledEventAttributes: {} },
  { eventType: 'WORKFLOW_TASK_COMPLETED', workflowTaskCompletedEventAttributes: {} },
  {
    eventType: 'TIMER_STARTED',
    timerStartedEventAttributes: { workflowTaskCompletedEventId: '7', timerId: '1' },
  },
].map((event, index) => ({ ...event, eventId: String(index + 1) }))

test.each([
  [1, 'the workflow task after event 1 (WORKFLOW_EXECUTION_STARTED)'],
  [5, 'the workflow task after event 5 (ACTIVITY_TASK_COMPLETED thread.callModel)'],
])('W4 code that throws over event %i is named by that event', async (bad, named) => {
  const run = { workflowId: 't', history: { events } }
  const fails = async (beginning: typeof run): Promise<boolean> =>
    (eventsOf(beginning) as readonly unknown[]).length > bad
  expect(await findFailingTask(run, fails as never)).toBe(named)
})
