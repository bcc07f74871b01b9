import { defaultPayloadConverter } from '@temporalio/common'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { ThreadClient } from '../../src/client/index.js'
import type { ThreadHandle } from '../../src/client/index.js'
import { recordedRuns } from '../support/histories.js'
import { marked, MARKER } from '../support/marker.js'
import { until } from '../support/until.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'

let fixture: Fixture
let thread: ThreadHandle

beforeAll(async () => {
  fixture = await createFixture()
  await fixture.startWorker()
  const id = 'seen'
  thread = await fixture.create({
    id: `${id}-${fixture.taskQueue}`,
    userId: `ann-${fixture.taskQueue}`,
    title: marked('A title'),
    tags: ['vip', 'north'],
    message: {
      content: marked(`please research #${id}`),
      attachments: [{ name: 'notes.txt', mimeType: 'text/plain', data: Buffer.from(marked('Notes')) }],
    },
  })
  await thread.waitUntilIdle({ timeout: '100 s' })
})
afterAll(() => fixture.close())

test('threads are listed in Temporal by their search attributes', async () => {
  const user = `ThreadUser = "ann-${fixture.taskQueue}"`
  const { threadId } = thread
  const query = `${user} AND ThreadAgent = "clerk" AND ThreadStatus = "idle" AND ThreadTags = "vip"`
  // Temporal's list is eventually consistent.
  await until('the idle thread', async () => (await list(query)).join() === threadId)
  const [child] = await fixture.childrenOf(threadId)
  const children = `ThreadParent = "${threadId}" AND ThreadAgent = "research" AND ThreadStatus = "completed"`
  await until('the child', async () => (await list(children)).join() === child)
  const tree = `ThreadRoot = "${threadId}"`
  await until('the tree', async () => {
    const listed = await list(tree)
    return listed.length === 2 && listed.includes(threadId) && listed.includes(child ?? '')
  })
  expect(await list(`${user} AND ThreadStatus = "stopped"`)).toEqual([])
})

test('search attributes and memo hold names and no title', async () => {
  const { searchAttributes, memo } = await thread.workflow.describe()
  const userId = `ann-${fixture.taskQueue}`
  expect(searchAttributes).toMatchObject({
    ThreadAgent: ['clerk'],
    ThreadStatus: ['idle'],
    ThreadUser: [userId],
    ThreadRoot: [thread.threadId],
    ThreadTags: ['vip', 'north'],
  })
  expect(memo).toEqual({ agent: 'clerk', store: await fixture.threads.storeId(), userId })
  expect(JSON.stringify({ searchAttributes, memo })).not.toContain(MARKER)
})

test('summaries name agent, step, model and tool', async () => {
  expect(await userMetadata(thread.threadId, 'summary')).toEqual([
    'clerk',
    'clerk: step 1',
    'prepare research',
    'research',
    'complete research',
    // It also stores the end of the run.
    'clerk: step 2, model chat',
  ])
  const [child] = await fixture.childrenOf(thread.threadId)
  expect(await userMetadata(child ?? '', 'summary')).toEqual([
    'research',
    'research: step 1',
    'tool deliver',
    'report to the parent',
    'close: completed',
  ])
})

test('current details show what a thread does', async () => {
  const metadata = await thread.workflow.query<{ currentDetails: string }>('__temporal_workflow_metadata')
  expect(metadata.currentDetails).toContain('Agent: clerk')
  expect(metadata.currentDetails).toContain('Status: idle')
  expect(metadata.currentDetails).not.toContain(MARKER)
})

test('the details lead to the page, also those of a child, where a client knows its address', async () => {
  const { temporal } = fixture.threads
  const threads = new ThreadClient({
    ...{ client: temporal, taskQueue: fixture.taskQueue, store: fixture.store },
    pageUrl: 'https://threads.example.com/',
  })
  const id = `led (${fixture.taskQueue})`
  const notes = { name: 'notes.txt', mimeType: 'text/plain', data: Buffer.from(marked('Notes')) }
  const message = { content: marked('please research #led'), attachments: [notes] }
  const led = await threads.create({ id, agent: 'clerk', message })
  await led.waitUntilIdle({ timeout: '100 s' })
  const [child = ''] = await fixture.childrenOf(id)
  const address = `https://threads.example.com/#/threads/led%20%28${fixture.taskQueue}%29`
  for (const [workflow, expected] of [
    [led.workflow, address],
    [threads.get(child).workflow, `https://threads.example.com/#/threads/${encodeURIComponent(child)}`],
    [thread.workflow, undefined],
  ] as const) {
    const { currentDetails } = await workflow.query<{ currentDetails: string }>(
      '__temporal_workflow_metadata',
    )
    expect(/^Page: (.*?)(?: {2})?$/m.exec(currentDetails)?.[1]).toBe(expected)
  }
  await threads.close()
  expect(() => new ThreadClient({ pageUrl: 'threads.example.com' })).toThrow(
    'to be the http address of a page',
  )
})

test('a child is described by names and ids only', async () => {
  const { threadId } = thread
  const [reference = ''] = await fixture.childrenOf(threadId)
  const child = fixture.threads.get(reference)
  expect(await child.snapshot()).toMatchObject({ parent: threadId, root: threadId })
  const [started = ''] = await userMetadata(reference, 'details')
  expect(started.split('  \n')).toEqual([
    'Agent: research',
    `Instance: ${reference}`,
    `Parent: ${threadId}`,
    `Root: ${threadId}`,
  ])
  const { currentDetails } = await child.workflow.query<{ currentDetails: string }>(
    '__temporal_workflow_metadata',
  )
  expect(currentDetails).toContain(`Root: ${threadId}`)
})

test('no text, argument or result is in these histories', async () => {
  const { bytes, leaks } = await fixture.search()
  expect(leaks).toEqual([])
  expect(bytes).toBeGreaterThan(10_000)
})

async function list(query: string): Promise<readonly string[]> {
  const found: string[] = []
  for await (const { workflowId } of fixture.threads.temporal.workflow.list({ query })) found.push(workflowId)
  return found
}

/** What the UI writes beside the events of a history. */
async function userMetadata(threadId: string, part: 'summary' | 'details'): Promise<readonly string[]> {
  const runs = await recordedRuns(fixture.threads.temporal, threadId)
  return runs.flatMap(({ history }) =>
    (history.events ?? []).flatMap(({ userMetadata: written }) => {
      const payload = written?.[part]
      return payload == null ? [] : [defaultPayloadConverter.fromPayload<string>(payload)]
    }),
  )
}
