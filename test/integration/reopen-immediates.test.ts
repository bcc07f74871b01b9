import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ThreadHandle } from '../../src/client/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { startFamily } from '../support/family-runs.js'
import { createFamilyScripts } from '../support/family-scripts.js'
import { createGate } from '../support/gate.js'
import { kindsDesk } from '../support/kinds-desk.js'
import type { KindsDesk } from '../support/kinds-desk.js'
import { approve, done, draft } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { testEnvironment } from '../support/test-store.js'
import { until } from '../support/until.js'

const scripts = createFamilyScripts(kindsDesk)
/** The immediate child of an opener, and its own, both end at once. */
const chain = { idler: () => draft, last: () => draft, judge: () => approve('Ready') }
let env: TestEnvironment<KindsDesk>

beforeAll(async () => {
  const { models, tools } = scripts
  env = await testEnvironment({ registry: kindsDesk, models, tools, server: 'dev' })
})
afterAll(() => env.close())

async function reopen(thread: ThreadHandle): Promise<void> {
  await thread.workflow.terminate('operator')
  await until('a lost thread', async () => (await thread.snapshot()).status === 'lost')
  await env.threads.reopen(thread.threadId)
}

test('a prompt whose immediates have started starts none when its thread is reopened', async () => {
  const { thread, children } = await startFamily(env, scripts, {
    agent: 'opener',
    voices: { opener: [done, done], ...chain },
  })
  await thread.waitUntilIdle()
  expect(await children()).toHaveLength(1)
  await reopen(thread)
  await thread.send(marked('Again'))
  await thread.waitUntilIdle()
  expect(await children()).toHaveLength(1)
})

test('nor when it was lost between its immediates and the first answer', async () => {
  const gate = createGate()
  const { thread, children, requests } = await startFamily(env, scripts, {
    agent: 'opener',
    voices: { opener: [() => gate.passed.then(() => done), done], ...chain },
  })
  await until('the request', () => requests('opener').length === 1)
  await reopen(thread)
  gate.open()
  await thread.waitUntilIdle()
  expect(requests('opener').length).toBeGreaterThan(1)
  expect(await children()).toHaveLength(1)
})
