import { afterAll, beforeAll, expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import { ThreadConflictError, ThreadNotFoundError } from '../../src/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { familyDesk } from '../support/family-desk.js'
import type { FamilyDesk } from '../support/family-desk.js'
import { startFamily } from '../support/family-runs.js'
import type { Family } from '../support/family-runs.js'
import { createFamilyScripts } from '../support/family-scripts.js'
import { approve, done, draft, order } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { testEnvironment } from '../support/test-store.js'
import { until } from '../support/until.js'

const scripts = createFamilyScripts()
let env: TestEnvironment<FamilyDesk>

beforeAll(async () => {
  const { models, tools } = scripts
  // A sweep, which operators run once a day, looks at all windows: a row for each account and each of its sessions.
  env = await testEnvironment({ registry: familyDesk, models, tools, server: 'dev' }, ['rate_windows'])
})
afterAll(() => env.close())

async function family(
  writer: typeof draft | 'silent' = draft,
): Promise<{ family: Family; child: ThreadHandle }> {
  const notes = { name: 'notes.txt', mimeType: 'text/plain', data: Buffer.from(marked('Notes')) }
  const started = await startFamily(env, scripts, {
    message: { content: marked('Hello'), attachments: [notes] },
    voices: {
      planner: [{ toolCalls: [order('pair')] }, done],
      writer: writer === 'silent' ? () => new Promise(() => undefined) : [writer],
      editor: [approve()],
    },
  })
  return { family: started, child: await started.child() }
}

/** Every row that names one of these threads, in any table. */
async function rowsOf(...ids: readonly string[]): Promise<Readonly<Record<string, number>>> {
  const tables = ['messages', 'tool_calls', 'operations', 'runs', 'files', 'events', 'pending'] as const
  const counts = await env.store.read((db) =>
    Promise.all(
      tables.map(async (table) => {
        const rows = await db.selectFrom(table).select('thread_id').where('thread_id', 'in', ids).execute()
        return [table, rows.length] as const
      }),
    ),
  )
  return Object.fromEntries(counts.filter(([, count]) => count > 0))
}

async function isForgotten(thread: ThreadHandle): Promise<boolean> {
  return thread.workflow.describe().then(
    () => false,
    () => true,
  )
}

test('a tree is deleted with rows, files and histories', { timeout: 300_000 }, async () => {
  const { family: root, child } = await family()
  const { thread } = root
  await thread.waitUntilIdle({ children: true })
  await expect(env.threads.deleteThread(thread.threadId)).rejects.toSatisfy(ThreadConflictError.isInstance)
  expect(await rowsOf(thread.threadId, child.threadId)).toMatchObject({ files: expect.any(Number) })
  const deleted = await env.threads.deleteThread(thread.threadId, { terminate: true })
  expect(deleted).toEqual({ threads: 2, kept: [] })
  expect(await rowsOf(thread.threadId, child.threadId)).toEqual({})
  await expect(thread.snapshot()).rejects.toSatisfy(ThreadNotFoundError.isInstance)
  expect(await env.threads.deleteThread(thread.threadId)).toEqual({ threads: 0, kept: [] })
  for (const gone of [thread, child]) await until('no history', () => isForgotten(gone), 120_000, 200)
})

test('a busy tree is ended before it is deleted', async () => {
  const { family: root, child } = await family('silent')
  await until('the request of the child', () => root.requests('writer').length === 1)
  const { threadId } = root.thread
  expect(await env.threads.deleteThread(threadId, { terminate: true })).toMatchObject({ threads: 2 })
  expect(await rowsOf(threadId, child.threadId)).toEqual({})
})

test('a tree whose workflows were killed is ended too', async () => {
  const { family: root, child } = await family('silent')
  await until('the request of the child', () => root.requests('writer').length === 1)
  await root.thread.workflow.terminate('operator')
  await child.workflow.terminate('operator')
  expect(await env.threads.deleteThread(root.thread.threadId, { terminate: true })).toMatchObject({
    threads: 2,
  })
})

test('a deleted id is a new thread at once', async () => {
  const { family: root } = await family()
  const { thread } = root
  await thread.waitUntilIdle({ children: true })
  await env.threads.deleteThread(thread.threadId, { terminate: true })
  const id = thread.threadId
  scripts.script(id, env.store, { voices: { planner: [{ text: marked('New') }] } })
  const again = await env.threads.create({ agent: 'planner', id, message: marked('Hello again') })
  expect(await again.waitUntilIdle()).toMatchObject({ runId: 'run_1', reply: { content: marked('New') } })
  expect((await again.messages()).messages).toHaveLength(2)
})

test('a sweep deletes trees that closed long ago, and counts', async () => {
  const { family: root, child } = await family()
  const { thread } = root
  await thread.waitUntilIdle({ children: true })
  await thread.terminate()
  await until('closed', async () => (await thread.tree()).closedAt !== null)
  const ids = [thread.threadId, child.threadId]
  expect(await env.threads.sweep({ closedFor: '1 day' })).toMatchObject({ trees: 0, threads: 0 })
  expect(await rowsOf(...ids)).toMatchObject({ messages: expect.any(Number) })
  const counted = await env.threads.sweep({ closedFor: 0, dryRun: true })
  expect(counted).toMatchObject({ trees: 1, threads: 2 })
  expect(await rowsOf(...ids)).toMatchObject({ messages: expect.any(Number) })
  expect(await env.threads.sweep({ closedFor: 0 })).toMatchObject({ trees: 1, threads: 2, kept: [] })
  expect(await rowsOf(...ids)).toEqual({})
  await expect(env.threads.sweep({ closedFor: 'soon' as '1d' })).rejects.toThrow('such as "90d"')
})
