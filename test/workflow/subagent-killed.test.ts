import { afterAll, beforeAll, expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { familyDesk } from '../support/family-desk.js'
import type { FamilyDesk } from '../support/family-desk.js'
import { startFamily } from '../support/family-runs.js'
import type { Family, NewFamily } from '../support/family-runs.js'
import { createFamilyScripts } from '../support/family-scripts.js'
import { activityNames, recordedRuns } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { factTypes, toolResults } from '../support/thread-facts.js'
import { until } from '../support/until.js'
import { testEnvironment } from '../support/test-store.js'

/**
 * T7: an operator ends a child in Temporal. On a real server: the time-skipping one writes no close event for a child
 * that was terminated, and skips no time while it thinks that the child's activity runs.
 */
const scripts = createFamilyScripts()
let env: TestEnvironment<FamilyDesk>

beforeAll(async () => {
  const { models, tools } = scripts
  env = await testEnvironment({ registry: familyDesk, models, tools, server: 'dev' })
})
afterAll(() => env.close())

test('T7 a close event tells a parent that its child was killed', async () => {
  const { family, child } = await waiting()
  await child.workflow.terminate('operator')
  await family.thread.waitUntilIdle({ timeout: '100 s' })
  await answered(family, child)
  expect(await looks(family.thread)).toBe(0)
})

test('T7 after continue-as-new a killed child is found', async () => {
  const { family, child } = await waiting({ limits: { historyEvents: 0 } })
  const from = Date.now()
  await child.workflow.terminate('operator')
  await family.thread.waitUntilIdle({ timeout: '120 s' })
  // At its first look after a minute, and not at its second one.
  expect(Date.now() - from).toBeLessThan(110_000)
  await answered(family, child)
  expect(await looks(family.thread)).toBe(1)
})

test('T7 a stopped parent reads later that its child was killed', async () => {
  const { family, child } = await waiting()
  await family.thread.stop()
  await child.workflow.terminate('operator')
  expect(await family.thread.waitUntilIdle()).toMatchObject({ status: 'stopped' })
  // Whether it came before the end of the run or after it: its call was interrupted, and it is an item of its own.
  await until('the item', async () => (await family.thread.snapshot()).queue.length === 1)
  expect((await toolResults(family.thread))[0]?.content).toContain('interrupted')
  await family.thread.continue()
  await family.thread.waitUntilIdle()
  const { messages } = await family.thread.messages({ includeSilent: true })
  const told = messages.filter(({ subagent_id }) => subagent_id === child.threadId)
  expect(told).toMatchObject([
    {
      role: 'user',
      silent: true,
      content:
        `Subagent (reference: ${child.threadId}) has reported a failure:\n` +
        'It was closed without a report (terminated).',
    },
  ])
  expect((await family.thread.snapshot()).children).toMatchObject([{ status: 'terminated' }])
})

/** A parent that waits for a child whose model does not answer. */
async function waiting(
  options: Pick<NewFamily, 'limits'> = {},
): Promise<{ family: Family; child: ThreadHandle }> {
  const family = await startFamily(env, scripts, {
    voices: {
      planner: [{ toolCalls: [{ name: 'pair', args: { task: marked('Write') } }] }, { text: marked('Done') }],
      writer: () => new Promise(() => undefined),
    },
    ...options,
  })
  const child = await family.child()
  await until('the request of the child', () => family.requests('writer').length === 1)
  return { family, child }
}

/** Its call has one result, which names the status with which the child closed. */
async function answered(family: Family, child: ThreadHandle): Promise<void> {
  expect(await toolResults(family.thread)).toMatchObject([
    {
      tool_status: 'error',
      content: 'Error: The subagent was closed without a report (terminated).',
      subagent_id: child.threadId,
    },
  ])
  const types = await factTypes(family.thread)
  expect(types.filter((type) => type === 'subagent.closed')).toHaveLength(1)
  expect((await family.thread.snapshot()).children).toMatchObject([{ status: 'terminated' }])
  expect(family.requests('planner')).toHaveLength(2)
}

async function looks(thread: ThreadHandle): Promise<number> {
  const names = activityNames(await recordedRuns(env.threads.temporal, thread.threadId))
  return names.filter((name) => name === 'thread.checkChildren').length
}
