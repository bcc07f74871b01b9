import { afterAll, beforeAll, expect, test } from 'vitest'

import { createTaskBench } from '../mcp/mcp-task-server.js'
import { serveMcp } from '../mcp/mcp-test-server.js'
import { createGate } from '../support/gate.js'
import { marked } from '../support/marker.js'
import { toolResults } from '../support/thread-facts.js'
import { until } from '../support/until.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import { caseOf } from './worker/model-script.js'
import type { WorkerProcess } from './worker/run-worker.js'
import { expectWholeLog } from './worker/whole-thread.js'

let fixture: Fixture
let worker: WorkerProcess
let closeServer: () => Promise<void>
const bench = createTaskBench()
/** The method that is not answered, once. */
let held: string | null = null
const never = createGate()

beforeAll(async () => {
  const served = await serveMcp(bench.register)
  closeServer = served.close
  bench.look = async (method) => {
    if (held !== method) return
    held = null
    await never.passed
  }
  fixture = await createFixture({
    ...{ desk: 'mcp', mcpUrl: served.url },
    answerer: (messages) =>
      messages.at(-1)?.role === 'tool'
        ? { text: marked('Done') }
        : { toolCalls: [{ name: 'bake', input: JSON.stringify({ order: caseOf(messages) }) }] },
  })
  worker = await fixture.startWorker()
})
afterAll(async () => {
  await fixture.close()
  await closeServer()
})

async function begin(id: string) {
  const thread = await fixture.create({ id, message: marked(`please #${id}`) })
  // The first worker of a busy machine takes its time.
  await until('a question about the task', async () => bench.asked('tasks/get', id) > 0, 120_000)
  return thread
}

test('a worker that is killed between two questions about a task loses nothing, and no second task begins', async () => {
  const id = 'mcp-task-between'
  const thread = await begin(id)
  await worker.kill()
  bench.finish(id, marked('Baked'))
  worker = await fixture.startWorker()
  await thread.waitUntilIdle({ timeout: '100 s' })
  expect(await toolResults(thread)).toMatchObject([{ tool_status: 'success', content: marked('Baked') }])
  // It throws if there is more than one.
  expect(bench.of(id).status).toBe('completed')
  await expectWholeLog(thread)
})

test('a worker that is killed in a question about a task leaves it to the next one', async () => {
  const id = 'mcp-task-within'
  held = 'tasks/get'
  const thread = await begin(id)
  await worker.kill()
  bench.finish(id, marked('Baked'))
  worker = await fixture.startWorker()
  await thread.waitUntilIdle({ timeout: '100 s' })
  expect(await toolResults(thread)).toMatchObject([{ tool_status: 'success', content: marked('Baked') }])
  expect(bench.of(id).status).toBe('completed')
})

test('a worker that is killed while it sends the answer of a person to a task loses nothing', async () => {
  const id = 'mcp-task-answer'
  const thread = await begin(id)
  bench.ask(id, marked('How large?'))
  await until('a question', async () => (await thread.snapshot()).pending.length === 1)
  const [request] = (await thread.snapshot()).pending
  held = 'tasks/update'
  await thread.respond(request?.id ?? '', { result: { status: 'success', result: { size: 3 } } })
  await until('an answer', async () => bench.asked('tasks/update', id) === 1)
  await worker.kill()
  worker = await fixture.startWorker()
  await until('the answer again', async () => bench.answers.length > 0)
  expect(bench.answers.at(-1)).toEqual({ size: { action: 'accept', content: { size: 3 } } })
  bench.finish(id, marked('Large'))
  await thread.waitUntilIdle({ timeout: '100 s' })
  expect(await toolResults(thread)).toMatchObject([{ tool_status: 'success', content: marked('Large') }])
  expect(bench.of(id).status).toBe('completed')
})

test('a worker that is killed in the call which begins a task leaves an unknown outcome, and no second task begins', async () => {
  const id = 'mcp-task-first'
  held = 'tools/call'
  const thread = await fixture.create({ id, message: marked(`please #${id}`) })
  await until('a held call', async () => held === null)
  await worker.kill()
  worker = await fixture.startWorker()
  await thread.waitUntilIdle({ timeout: '100 s' })
  expect(await toolResults(thread)).toMatchObject([
    { tool_status: 'error', content: expect.stringContaining('unknown') },
  ])
  expect(bench.of(id).status).toBe('working')
})

test('a worker that is killed while it cancels the task of a stopped call cancels it again', async () => {
  const id = 'mcp-task-stop'
  const thread = await begin(id)
  held = 'tasks/cancel'
  await thread.stop()
  await until('a cancellation', async () => bench.asked('tasks/cancel', id) === 1)
  await worker.kill()
  worker = await fixture.startWorker()
  await until('the end of the task', async () => bench.of(id).status === 'cancelled')
  await thread.waitUntilIdle({ timeout: '100 s' })
  expect(await toolResults(thread)).toMatchObject([{ tool_status: 'error' }])
  await expectWholeLog(thread)
})

test('no id of a task and no text of its server is in these histories', async () => {
  const { bytes, leaks } = await fixture.search()
  expect(leaks).toEqual([])
  expect(bytes).toBeGreaterThan(5_000)
})
