import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { expect, test } from 'vitest'

import type { RecordedHistory } from '../../src/testing/index.js'
import { assertReplays } from '../../src/testing/index.js'
import { isOf, renumbered } from '../replay/mutations.js'
import type { KeptEvent } from '../replay/mutations.js'
import { marked } from '../support/marker.js'
import { threeRuns } from '../support/three-runs.js'

/** Of some sixteen events each: one of the rests between them is near the bound. */
const TURNS = 13
/** Of three events each: nearly a turn. */
const EMPTY_TASKS = 5
const TASK = ['SCHEDULED', 'STARTED', 'COMPLETED'] as const

type Events = readonly KeptEvent[]

/** The places of tasks that left nothing to do: a signal is what comes next. */
function restsOf(events: Events): readonly number[] {
  return events.flatMap((event, index) => {
    const next = events[index + 1]
    const rests = next !== undefined && isOf(next, 'WORKFLOW_EXECUTION_SIGNALED')
    return rests && isOf(event, 'WORKFLOW_TASK_COMPLETED') ? [index] : []
  })
}

/** A task as the one that ends there, in which there was nothing to do. */
function emptyTask(events: Events, end: number, number: number): Events {
  const own = events.slice(end - 2, end + 1)
  const ids = new Map(own.map(({ eventId }, index) => [eventId, `${TASK[index]} ${number}`]))
  const text = JSON.stringify(own, (key, value: unknown) =>
    /eventId$/i.test(key) && typeof value === 'string' ? (ids.get(value) ?? value) : value,
  )
  return JSON.parse(text) as Events
}

/** That history with empty tasks at a rest, and what the thread did next as its end. */
function withEmptyTasks(events: Events, rest: number): Events {
  const empty = Array.from({ length: EMPTY_TASKS }, (_, number) => emptyTask(events, rest, number)).flat()
  const next = events.findIndex((event, index) => index > rest && isOf(event, 'WORKFLOW_TASK_COMPLETED'))
  return renumbered([...events.slice(0, rest + 1), ...empty, ...events.slice(rest + 1, next + 2)])
}

threeRuns((desk) => {
  test('T11 SA-R-01.0 what a resting thread does is the same whatever empty tasks a server gives it', async () => {
    const { thread } = await desk.start({ message: null, chat: () => ({ text: marked('yes') }) })
    for (let turn = 1; turn <= TURNS; turn += 1) {
      await thread.send(marked(`ask ${turn}`))
      await thread.waitUntilIdle()
    }
    const histories: RecordedHistory[] = []
    for (const { workflowId, history } of await desk.runs(thread.threadId)) {
      const { events } = JSON.parse(historyToJSON(history)) as { readonly events: Events }
      for (const rest of restsOf(events))
        histories.push({ workflowId, history: { events: withEmptyTasks(events, rest) } })
    }
    // One that continues as new at every point never rests.
    if (desk.mode === 'default cache') expect(histories.length).toBeGreaterThan(3)
    expect(await assertReplays(histories)).toBe(histories.length)
  })
})
