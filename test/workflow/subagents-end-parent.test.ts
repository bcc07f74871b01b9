import { afterAll, beforeAll, expect, test } from 'vitest'

import type { ThreadState } from '../../src/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { createGate } from '../support/gate.js'
import { startFamily } from '../support/family-runs.js'
import { createFamilyScripts } from '../support/family-scripts.js'
import { kindsDesk } from '../support/kinds-desk.js'
import type { KindsDesk } from '../support/kinds-desk.js'
import { act, approve, calls, create, done, draft } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { until } from '../support/until.js'
import { testEnvironment } from '../support/test-store.js'

/**
 * A child whose tool ends its parent, which then ends it. On a real server: the time-skipping one loses a workflow task that
 * cancels an activity which has just ended (ACTIVITY_UNKNOWN), and the thread stands still.
 */
const scripts = createFamilyScripts(kindsDesk)
let env: TestEnvironment<KindsDesk>

beforeAll(async () => {
  const { models, tools } = scripts
  env = await testEnvironment({ registry: kindsDesk, models, tools, server: 'dev' })
})
afterAll(() => env.close())

async function parentOf(state: ThreadState): Promise<ThreadState> {
  const parent = await state.getParentThread()
  if (parent === null) throw new Error('Expected a parent.')
  return parent
}

test.each([
  { when: 'that was never replaced', limits: {} },
  { when: 'that continued as new', limits: { historyEvents: 0 } },
])('SA-A-07.13b a child writes to its parent $when, wakes it and ends it', async ({ limits }) => {
  const seen: unknown[] = []
  const resting = createGate()
  const family = await startFamily(env, scripts, {
    agent: 'lead',
    limits,
    voices: {
      lead: [calls(create('hermit')), done, calls(act('look')), done],
      worker: [calls(act('write')), draft, calls(act('end')), () => draft],
      judge: () => approve(),
    },
    tools: {
      async act(state, { task }) {
        if (task === 'look') seen.push(await state.getValue('key'))
        else if (task === 'end') await (await parentOf(state)).terminate()
        else {
          // Else its message could come in the run that started it, and would wake nobody.
          await resting.passed
          const parent = await parentOf(state)
          await parent.setValue('key', marked('value'))
          await parent.queueMessage({ role: 'user', content: marked('From below') })
        }
        return { status: 'success', result: marked('acted') }
      },
    },
  })
  const { thread } = family
  const child = await family.child()
  await thread.waitUntilIdle()
  resting.open()
  await until('what the child wrote', () => seen.length === 1)
  await until('a session', async () => (await thread.snapshot()).children[0]?.status === 'completed')
  await child.waitUntilIdle()
  await thread.waitUntilIdle()
  expect(seen).toEqual([marked('value')])
  expect(JSON.stringify(family.requests('lead'))).toContain(marked('From below'))
  await child.send(marked('End it'))
  for (const one of [thread, child])
    await until('a closed thread', async () => (await one.workflow.describe()).status.name !== 'RUNNING')
  expect((await thread.snapshot()).children).toMatchObject([{ status: 'terminated' }])
  expect((await thread.snapshot()).status).toBe('terminated')
  expect((await child.snapshot()).status).toBe('terminated')
})
