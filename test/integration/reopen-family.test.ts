import { afterAll, beforeAll, expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import { ThreadConflictError } from '../../src/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { familyDesk } from '../support/family-desk.js'
import type { FamilyDesk } from '../support/family-desk.js'
import { startFamily } from '../support/family-runs.js'
import type { Family } from '../support/family-runs.js'
import { createFamilyScripts } from '../support/family-scripts.js'
import { createGate } from '../support/gate.js'
import { approve, done, draft, order, resultOf } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { toolResults } from '../support/thread-facts.js'
import { testEnvironment } from '../support/test-store.js'
import { until } from '../support/until.js'

const scripts = createFamilyScripts()
let env: TestEnvironment<FamilyDesk>

beforeAll(async () => {
  const { models, tools } = scripts
  env = await testEnvironment({ registry: familyDesk, models, tools, server: 'dev' })
})
afterAll(() => env.close())

async function lose(thread: ThreadHandle): Promise<void> {
  await thread.workflow.terminate('operator')
  await until('a lost thread', async () => (await thread.snapshot()).status === 'lost')
}

/** A parent that waits for a child whose model does not answer before it is let. */
async function waiting(): Promise<{ family: Family; child: ThreadHandle; release: () => void }> {
  const gate = createGate()
  const family = await startFamily(env, scripts, {
    voices: {
      planner: [{ toolCalls: [order('pair')] }, done, done, done],
      writer: [() => gate.passed.then(() => draft), draft],
      editor: [approve(), approve()],
    },
  })
  const child = await family.child()
  await until('the request of the child', () => family.requests('writer').length === 1)
  return { family, child, release: () => gate.open() }
}

async function told(parent: ThreadHandle, child: ThreadHandle): Promise<readonly (string | null)[]> {
  const { messages } = await parent.messages({ includeSilent: true })
  return messages
    .filter(({ subagent_id: id, position }) => id === child.threadId && position !== null)
    .map(({ content }) => content)
}

test('T7 a reopened parent is told by its open child', async () => {
  const { family, child, release } = await waiting()
  const { thread } = family
  await lose(thread)
  await env.threads.reopen(thread.threadId)
  await thread.waitUntilIdle()
  const [result] = await toolResults(thread)
  expect(result?.content).toContain('interrupted')
  release()
  await until('the words', async () => (await told(thread, child)).length === 1)
  await thread.waitUntilIdle()
  expect(await told(thread, child)).toEqual([resultOf(child.threadId, marked('Good'))])
  expect((await thread.snapshot()).children).toMatchObject([{ status: 'completed' }])
  expect(await toolResults(thread)).toHaveLength(1)
})

test('T7 what a child said while its parent was lost is read', async () => {
  const { family, child, release } = await waiting()
  const { thread } = family
  await lose(thread)
  release()
  await until('the end of the child', async () => (await child.snapshot()).stale)
  await env.threads.reopen(thread.threadId)
  await until('the words', async () => (await told(thread, child)).length === 1)
  await thread.waitUntilIdle()
  expect(await told(thread, child)).toEqual([resultOf(child.threadId, marked('Good'))])
})

test('T7 a child that died with its parent is answered for once', async () => {
  const { family, child } = await waiting()
  const { thread } = family
  await lose(thread)
  await lose(child)
  await expect(env.threads.reopen(child.threadId)).rejects.toSatisfy(ThreadConflictError.isInstance)
  await env.threads.reopen(thread.threadId)
  await until('the words', async () => (await told(thread, child)).length === 1)
  await thread.waitUntilIdle()
  const [words] = await told(thread, child)
  expect(words).toContain('closed without a report (terminated)')
})

test('T7 a child goes on for a parent that was told of the loss', async () => {
  const { family, child, release } = await waiting()
  const { thread } = family
  await lose(child)
  await thread.waitUntilIdle()
  expect((await toolResults(thread))[0]?.content).toContain('closed without a report')
  await env.threads.reopen(child.threadId)
  release()
  await until('the end of the child', async () => (await child.snapshot()).stale)
  expect((await child.snapshot()).status).toBe('completed')
  expect(await toolResults(thread)).toHaveLength(1)
  expect((await thread.snapshot()).status).toBe('idle')
})
