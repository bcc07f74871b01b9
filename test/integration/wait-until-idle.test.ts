import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { MockInstance } from 'vitest'
import type { ThreadHandle, ThreadNotice } from '../../src/client/index.js'
import { SIGNALS } from '../../src/protocol/messages.js'
import { underContention } from '../support/contention.js'
import { marked } from '../support/marker.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import type { WorkerProcess } from './worker/run-worker.js'

let fixture: Fixture
let worker: WorkerProcess
let queries: MockInstance
let descriptions: MockInstance

/** It reached its limit of tokens, so that a `continue` has something to do. */
const truncated = { text: marked('A part'), endedBy: 'length' } as const

beforeEach(async () => {
  fixture = await createFixture({ answerer: () => truncated })
  worker = await fixture.startWorker()
  const { workflowService } = fixture.threads.temporal
  queries = vi.spyOn(workflowService, 'queryWorkflow')
  descriptions = vi.spyOn(workflowService, 'describeWorkflowExecution')
})
afterEach(async () => {
  vi.restoreAllMocks()
  await fixture.close()
})

test('a wait for a turn describes the workflow and queries nothing', async () => {
  const thread = await fixture.create({ id: 'wait-turn' })
  const counts: { readonly queries: number; readonly descriptions: number }[] = []
  for (let run = 1; run <= 5; run += 1) {
    vi.clearAllMocks()
    await thread.send(marked('Hello #wait-turn'))
    expect(await thread.waitUntilIdle()).toMatchObject({
      ...{ status: 'idle', runId: `run_${run}`, reason: 'answer_cut' },
      reply: { content: truncated.text },
    })
    counts.push({ queries: queries.mock.calls.length, descriptions: descriptions.mock.calls.length })
  }
  // A turn on a busy machine may store nothing for so long that its wait asks why.
  const fewest = counts.toSorted((one, other) => one.queries - other.queries)[0]
  expect(fewest?.queries).toBe(0)
  expect(Math.min(...counts.map(({ descriptions: count }) => count))).toBeLessThan(4)
})

test.each([
  ['a continue', (thread: ThreadHandle) => thread.continue()],
  ['a message of another client', signalMessage],
] as const)('%s that was acknowledged before a wait is part of it', async (by, ask) => {
  const id = `wait-${by.split(' ')[1]}`
  const thread = await fixture.create({ id, message: marked(`Hello #${id}`) })
  await thread.waitUntilIdle()
  for (let run = 2; run <= 6; run += 1) {
    await ask(thread)
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', runId: `run_${run}` })
  }
  expect(fixture.model.requests(id)).toHaveLength(6)
})

test('a run that begins and ends before the description is part of the wait', async () => {
  const id = 'wait-between'
  const thread = await fixture.create({ id, message: marked(`Hello #${id}`) })
  await thread.waitUntilIdle()
  const { workflowService } = fixture.threads.temporal
  descriptions.mockImplementationOnce(async (request: object) => {
    await thread.continue()
    await thread.waitUntilIdle()
    return workflowService.describeWorkflowExecution(request)
  })
  expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', runId: 'run_2' })
})

test('a wait for a stopped thread queries its workflow', async () => {
  const id = 'wait-stopped'
  const held = fixture.model.hold(id, 'middle')
  const thread = await fixture.create({ id, message: marked(`Hello #${id}`) })
  await held.arrived
  await thread.stop()
  expect(await thread.waitUntilIdle()).toMatchObject({ status: 'stopped', reason: 'stopped' })
  expect(queries).toHaveBeenCalled()
})

test('E4 a wait after the death of the worker is told of it within three seconds', async () => {
  const id = 'wait-dead'
  const thread = await fixture.create({ id, message: marked(`Hello #${id}`) })
  await thread.waitUntilIdle()
  await worker.kill()
  // A thread with nothing to do needs no worker.
  expect(await thread.waitUntilIdle({ timeout: '60 s' })).toMatchObject({ status: 'idle', runId: 'run_1' })
  await thread.continue()
  let began = 0
  const told: { readonly notice: ThreadNotice; readonly after: number }[] = []
  const onNotice = (notice: ThreadNotice): void => void told.push({ notice, after: Date.now() - began })
  const { factor } = await underContention(async () => {
    began = Date.now()
    await expect(thread.waitUntilIdle({ timeout: 9_000, onNotice })).rejects.toMatchObject({
      code: 'timeout',
    })
  })
  expect(told).toMatchObject([{ notice: { code: 'no_answer', threadId: id } }])
  expect(told[0]?.after).toBeLessThan(3_000 * factor)
  await fixture.startWorker()
  expect(await thread.waitUntilIdle({ timeout: '100 s' })).toMatchObject({ status: 'idle', runId: 'run_2' })
})

/** As Temporal's own tools do, without a row in the store. */
function signalMessage(thread: ThreadHandle): Promise<void> {
  return thread.workflow.signal(SIGNALS.queueMessage, { content: marked(`And now? #${thread.threadId}`) })
}
