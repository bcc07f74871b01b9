import { afterAll, beforeAll, expect, test } from 'vitest'

import type { ThreadEvent, ThreadHandle } from '../../src/client/index.js'
import { defineAgent, defineModel, definePrompt, registry } from '../../src/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import { startDevServer } from '../support/servers.js'
import type { DevServer } from '../support/servers.js'
import { until } from '../support/until.js'
import { collect } from './client-fixture.js'
import { createWorkingFixture } from './working-fixture.js'
import type { WorkingFixture } from './working-fixture.js'

const chat = scriptedModel(() => ({ text: 'Done.' }))
const desk = registry({
  models: [defineModel({ name: 'chat', provider: { languageModel: () => chat }, model: 'x' })],
  prompts: [
    definePrompt({ name: 'clerk', toolDescription: 'x', prompt: 'x', model: 'chat', includeChat: true }),
  ],
  agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } })],
})

let server: DevServer
let fixture: WorkingFixture
let thread: ThreadHandle
let before: readonly ThreadEvent[]

/** A closed thread without its history, as after the namespace's retention, and without a worker. */
beforeAll(async () => {
  server = await startDevServer()
  fixture = await createWorkingFixture({ registry: desk, server })
  thread = await fixture.threads.create({ agent: 'clerk', id: 'old', message: 'Hello', tags: ['a'] })
  await thread.waitUntilIdle({ timeout: '100 s' })
  await thread.writeFile('/note.txt', 'kept', 'text/plain')
  await thread.terminate({ reason: 'over' })
  await thread.waitUntilIdle({ timeout: '100 s' })
  await fixture.endWorker()
  before = await collect(thread.events({ follow: false }))
  const { workflowService, options } = fixture.threads.temporal
  const [workflowExecution, { namespace }] = [{ workflowId: 'old' }, options]
  await workflowService.deleteWorkflowExecution({ namespace, workflowExecution })
  // The server deletes when it comes to it.
  const forgotten = () =>
    thread.workflow.describe().then(
      () => false,
      () => true,
    )
  await until('Temporal to forget it', forgotten)
})
afterAll(async () => {
  await fixture.close()
  await server.stop()
})

test('a closed thread is read as before', async () => {
  const since = performance.now()
  expect(await thread.snapshot()).toMatchObject({ status: 'terminated', stale: true, queue: [], pending: [] })
  expect((await thread.messages()).messages.map(({ content }) => content)).toEqual(['Hello', 'Done.'])
  expect(await collect(thread.events())).toEqual(before)
  expect(await thread.waitUntilIdle()).toMatchObject({ status: 'terminated', reply: { content: 'Done.' } })
  expect(Buffer.from((await thread.readFile('/note.txt')) ?? new ArrayBuffer(0)).toString()).toBe('kept')
  expect((await thread.readdirFile('/')).entries.map(({ path }) => path)).toEqual(['/note.txt'])
  expect(await thread.tree()).toMatchObject({ threadId: 'old' })
  expect(await collect(fixture.threads.list({ tag: 'a' }))).toMatchObject([{ threadId: 'old' }])
  // Nobody was asked in vain.
  expect(performance.now() - since).toBeLessThan(2_000)
})

test('T8 it takes nothing any more, and says so', async () => {
  const closed = { code: 'thread_terminated', status: 'terminated' }
  await expect(thread.send('More')).rejects.toMatchObject(closed)
  await expect(thread.queueTool('x', {})).rejects.toMatchObject(closed)
  await expect(thread.setEnv({ KEY: 'x' })).rejects.toMatchObject(closed)
  await expect(thread.stop()).rejects.toMatchObject(closed)
  await expect(thread.continue()).rejects.toMatchObject(closed)
  await expect(thread.removeQueued('x')).rejects.toMatchObject(closed)
  await expect(thread.respond('x', { approved: true })).rejects.toMatchObject({ code: 'request_not_found' })
  await thread.terminate()
  // The same create again finds it, and starts nothing.
  const again = await fixture.threads.create({ agent: 'clerk', id: 'old', message: 'Hello', tags: ['a'] })
  expect((await again.snapshot()).status).toBe('terminated')
  await expect(thread.workflow.describe()).rejects.toThrow()
})
