import { afterAll, beforeAll, expect, test } from 'vitest'

import { recordedRuns } from '../support/histories.js'
import type { RecordedRun } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { toolResults } from '../support/thread-facts.js'
import { until } from '../support/until.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import type { WorkerProcess } from './worker/run-worker.js'
import { expectWholeLog } from './worker/whole-thread.js'

let fixture: Fixture
let gpu: WorkerProcess

beforeAll(async () => {
  fixture = await createFixture({ desk: 'queues' })
  const { taskQueue } = fixture
  const only = (queue: string) =>
    fixture.startWorker({ taskQueue: `${taskQueue}-${queue}`, workflows: false })
  const [, , started] = await Promise.all([fixture.startWorker(), only('models'), only('gpu')])
  gpu = started
})
afterAll(() => fixture.close())

test('calls run on the task queues of their models and tools', async () => {
  const id = 'apart'
  const { taskQueue } = fixture
  const thread = await fixture.create({ id, message: marked(`please book #${id}`) })
  await thread.waitUntilIdle()
  await thread.send(marked(`please charge #${id}`))
  await thread.waitUntilIdle()
  expect(await toolResults(thread)).toMatchObject([{ tool_status: 'success' }, { tool_status: 'success' }])
  // A tool that is queued from outside a step is in no prompt that the workflow knows of.
  await thread.queueTool('charge', { task: marked('once more') })
  await thread.waitUntilIdle()
  expect(await fixture.effects(id)).toMatchObject([
    { tool: `${taskQueue}-gpu` },
    { tool: `${taskQueue}-gpu` },
  ])
  const calls = scheduledIn(await recordedRuns(fixture.threads.temporal, id)).filter(({ activity }) =>
    ['thread.callModel', 'thread.executeTool'].includes(activity),
  )
  expect(calls.map(({ activity, queue }) => [activity, queue.replace(taskQueue, '')])).toEqual([
    // The first call of the first run finds the plan, and the model's queue with it.
    ['thread.callModel', ''],
    ['thread.callModel', '-models'],
    ['thread.executeTool', ''],
    ['thread.callModel', '-models'],
    ['thread.callModel', '-models'],
    ['thread.executeTool', '-gpu'],
    ['thread.callModel', '-models'],
    ['thread.callModel', ''],
    ['thread.executeTool', ''],
    ['thread.executeTool', '-gpu'],
    ['thread.callModel', '-models'],
  ])
  await expectWholeLog(thread)
})

test('without a worker a task queue is named, and a stop is not held up', async () => {
  await gpu.kill()
  const id = 'nobody'
  const queue = `${fixture.taskQueue}-gpu`
  const thread = await fixture.create({ id, limits: {}, message: marked(`please charge #${id}`) })
  await until('the call to wait for a worker', async () => (await thread.snapshot()).run?.taskQueue === queue)
  const { currentDetails } = await thread.workflow.query<{ currentDetails: string }>(
    '__temporal_workflow_metadata',
  )
  expect(currentDetails).toContain(`Task queue: ${queue}`)
  const asked = Date.now()
  await thread.stop()
  expect(await thread.waitUntilIdle()).toMatchObject({ status: 'stopped' })
  expect(Date.now() - asked).toBeLessThan(20_000)
  expect(await toolResults(thread)).toMatchObject([{ content: expect.stringContaining('interrupted') }])
  await thread.send(marked(`please charge #${id} again`))
  await until('the call to wait for a worker', async () => (await thread.snapshot()).run?.taskQueue === queue)
  await thread.terminate()
  // Its row says so at once; its log has its end when the workflow has closed.
  await thread.workflow.result().catch(() => undefined)
  expect((await thread.snapshot()).status).toBe('terminated')
  await expectWholeLog(thread)
})

test('a task queue whose worker comes late goes on', async () => {
  const id = 'late'
  const taskQueue = `${fixture.taskQueue}-gpu`
  const thread = await fixture.create({ id, message: marked(`please charge #${id}`) })
  await until('the call to wait', async () => (await thread.snapshot()).run?.taskQueue === taskQueue)
  await fixture.startWorker({ taskQueue, workflows: false })
  expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle' })
  expect(await fixture.effects(id)).toHaveLength(1)
})

test('fairness key and task timeout go to calls, subagents and later runs', async () => {
  const id = 'fair'
  const { temporal } = fixture.threads
  const limits = { historyEvents: 1 }
  const thread = await fixture.create({
    id,
    account: 'acme',
    limits,
    message: marked(`please research #${id}`),
  })
  await thread.waitUntilIdle()
  await thread.send(marked(`please charge #${id}`))
  await thread.waitUntilIdle()
  const [child = ''] = await fixture.childrenOf(id)
  for (const one of [id, child]) {
    const runs = await recordedRuns(temporal, one)
    expect(runs.length).toBeGreaterThan(1)
    for (const { history } of runs) {
      const started = history.events?.[0]?.workflowExecutionStartedEventAttributes
      expect(started?.priority).toMatchObject({ fairnessKey: 'acme' })
      expect(Number(started?.workflowTaskTimeout?.seconds)).toBe(5)
    }
    expect(await fixture.effects(one)).toMatchObject([{ fairnessKey: 'acme' }])
  }
})

function scheduledIn(runs: readonly RecordedRun[]): readonly { activity: string; queue: string }[] {
  return runs.flatMap(({ history }) =>
    (history.events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => {
      if (scheduled == null) return []
      return [{ activity: scheduled.activityType?.name ?? '', queue: scheduled.taskQueue?.name ?? '' }]
    }),
  )
}

test('no text is in the histories of threads on many task queues', async () => {
  expect((await fixture.search()).leaks).toEqual([])
})
