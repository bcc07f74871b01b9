import { randomUUID } from 'node:crypto'

import type { ThreadClient, ThreadHandle } from '../../../src/client/index.js'
import type { TestEnvironment } from '../../../src/testing/index.js'
import { startFamily } from '../../support/family-runs.js'
import { calls, create, done, draft, approve, order } from '../../support/kinds-replies.js'
import { marked } from '../../support/marker.js'
import { factTypes } from '../../support/thread-facts.js'
import { until } from '../../support/until.js'
import type { WorkflowDesk } from '../../support/workflow-desk.js'
import type { apartDesk } from './apart.js'
import type { Families } from './families.js'
import { doing, familyOf, requestOf } from './scenario.js'
import type { Scenarios } from './scenario.js'
import type { SingleThreads } from './single-threads.js'

const later = {
  error: { status: 429, message: marked('Later'), headers: { 'retry-after': '3600' } },
} as const
const ask = { name: 'ask', args: {} }

/** A thread that waits for hours: on the server that skips time. */
export const waitingThreads = ({ env, script }: SingleThreads): Scenarios => ({
  async 'provider-waited-for-an-hour'() {
    const thread = await clerk(env, (id) => script(id, { chat: [later, done, done] }))
    await until('a refusal', async () => (await factTypes(thread)).includes('model.failed'))
    await env.sleep('50 minutes')
    await thread.send(marked('And then?'))
    await env.sleep('11 minutes')
    await thread.waitUntilIdle()
    return [thread.threadId]
  },

  async 'wait-for-a-provider-stopped'() {
    const thread = await clerk(env, (id) => script(id, { chat: [later, done] }))
    await until('the wait', async () => (await thread.snapshot()).status === 'waiting_resource')
    await thread.stop()
    await thread.waitUntilIdle()
    return [thread.threadId]
  },
})

async function clerk(
  env: TestEnvironment<WorkflowDesk>,
  script: (id: string) => unknown,
): Promise<ThreadHandle> {
  const id = `clerk-${randomUUID()}`
  script(id)
  return env.threads.create({ agent: 'clerk', id, message: marked('Hello') })
}

/** Subagents that take longer than their parents wait. */
export const waitingFamilies = ({ env, scripts }: Families): Scenarios => ({
  async 'subagent-too-late-for-its-call'() {
    const voices = { lead: [calls(order('helper')), done], worker: [calls(ask)] }
    const { thread, child } = await startFamily(env, scripts, { agent: 'lead', voices })
    await requestOf(await child())
    await env.sleep('61 minutes')
    await thread.waitUntilIdle()
    return familyOf(thread)
  },

  async 'subagent-too-late-that-stays'() {
    const voices = {
      lead: [calls(create('resident')), done, done],
      worker: [calls(ask), draft],
      judge: [approve()],
    }
    const family = await startFamily(env, scripts, { agent: 'lead', voices })
    const { thread, child } = family
    const request = await requestOf(await child())
    await env.sleep('121 minutes')
    await thread.waitUntilIdle()
    await (await child()).respond(request, { approved: true })
    await until('the report', () => family.requests('lead').length === 3)
    await thread.waitUntilIdle()
    return familyOf(thread)
  },

  async 'deferred-subagent-given-up'() {
    const family = await startFamily(env, scripts, {
      agent: 'lead',
      voices: { lead: [calls(order('vault')), done, done] },
    })
    await family.thread.waitUntilIdle()
    await env.sleep('10081 minutes')
    await until('the news', () => family.requests('lead').length === 3)
    await family.thread.waitUntilIdle()
    return familyOf(family.thread)
  },
})

/** Where time is skipped, and nobody serves the task queues of tools. */
export interface ApartPlace {
  readonly threads: ThreadClient<typeof apartDesk>
  readonly sleep: TestEnvironment['sleep']
}

/** An activity that nobody takes for a day. */
export const waitingApart = ({ threads, sleep }: ApartPlace): Scenarios => ({
  async 'activity-failed-for-good'() {
    const thread = await threads.create({ agent: 'here', message: marked('lost') })
    await doing(thread, 'tool lost')
    await sleep('25 hours')
    await thread.waitUntilIdle()
    return [thread.threadId]
  },
})
