import { expect, test } from 'vitest'
import type { ThreadHandle } from '../../src/client/index.js'
import type { Message } from '../../src/index.js'
import { RequestNotFoundError } from '../../src/protocol/errors.js'
import { createThreadApp } from '../../src/server/index.js'
import { kindsRuns } from '../support/family-runs.js'
import type { Family } from '../support/family-runs.js'
import { createGate } from '../support/gate.js'
import { act, approve, calls, create, done, draft, order, resultOf } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { toolResults } from '../support/thread-facts.js'
import { until } from '../support/until.js'

const token = 'a-token-of-this-test'
const KEY = 'key-4711-of-the-vault'

interface Bootstrap {
  readonly code: string
  readonly request_id: string
  readonly endpoint: string
  readonly missing: readonly string[]
}

kindsRuns((families) => {
  test('SA-R-07.5a SA-R-07.5b SA-R-07.5c SA-A-07.8b SA-A-07.8c variables come by HTTP and start the child', async () => {
    const read: unknown[] = []
    const family = await families.start({
      message: null,
      voices: {
        lead: [calls(create('guest', 'Ada', { attachments: ['/plan.txt'] })), done, done],
        locksmith: [calls(act('read')), draft],
        judge: [approve('Opened')],
      },
      tools: {
        act: async (state) => {
          read.push((await state.env('LOCK_KEY')).length, (await state.findFiles('*.txt')).paths.length)
          return { status: 'success', result: marked('read') }
        },
      },
    })
    const { thread } = family
    await thread.writeFile('/plan.txt', marked('plan'), 'text/plain')
    await thread.send(marked('Hello'))
    // The parent goes on.
    expect(await thread.waitUntilIdle()).toMatchObject({ steps: 2 })
    const [result] = await toolResults(thread)
    expect(result?.tool_status).toBe('error')
    const { code, endpoint, request_id: id, missing } = bootstrapOf(result)
    expect([code, missing]).toEqual(['subagent_env_required', ['LOCK_KEY']])
    expect(endpoint).toBe(`/threads/${thread.threadId}/variables/${id}`)
    expect((await thread.snapshot()).pending).toMatchObject([
      { id, kind: 'variables', missing: ['LOCK_KEY'] },
    ])
    expect((await thread.snapshot()).children).toMatchObject([{ status: 'deferred', threadName: 'Ada' }])
    const child = await family.child()
    await expect(child.workflow.describe()).rejects.toThrow()

    const found = await request(endpoint)
    expect(found.status).toBe(200)
    expect(await found.json()).toEqual({
      ...{ request_id: id, parent_thread_id: thread.threadId, agent_name: 'guest' },
      ...{ required: ['LOCK_KEY'], missing: ['LOCK_KEY'] },
    })
    expect((await request(endpoint, { env: { OTHER: 'x' } })).status).toBe(400)
    const supplied = await request(endpoint, { env: { LOCK_KEY: KEY } })
    expect([supplied.status, await supplied.json()]).toEqual([
      200,
      { request_id: id, child_thread_id: child.threadId, status: 'accepted' },
    ])
    await until('the report', () => family.requests('lead').length === 3)
    await thread.waitUntilIdle()
    expect((await request(endpoint)).status).toBe(404)
    expect((await request(endpoint, { env: { LOCK_KEY: KEY } })).status).toBe(200)
    expect((await request(endpoint, { env: { LOCK_KEY: 'another' } })).status).toBe(409)
    expect(read).toEqual([KEY.length, 1])
    const first = family.requests('locksmith')[0]?.messages ?? []
    expect(first).toHaveLength(1)
    expect(first[0]?.text).toContain(marked('First for Ada'))
    expect((await silentOf(thread)).map(({ content }) => content)).toEqual([
      resultOf(child.threadId, marked('Opened')),
    ])
    expect((await thread.snapshot()).children).toMatchObject([{ status: 'completed', threadName: 'Ada' }])
    expect((await thread.snapshot()).pending).toEqual([])
    expect(JSON.stringify(requestsOf(family))).not.toContain(KEY)
  })

  test('SA-A-07.8a variables of a grandchild are asked for before its parent starts', async () => {
    const family = await families.start({
      voices: {
        lead: [calls(order('relay')), done, done],
        relay_desk: [calls(order('vault')), draft],
        locksmith: [draft],
        judge: () => approve('Opened'),
      },
    })
    const { thread } = family
    await thread.waitUntilIdle()
    const { code, request_id: id, missing } = bootstrapOf((await toolResults(thread))[0])
    expect([code, missing]).toEqual(['subagent_env_required', ['LOCK_KEY']])
    expect(family.requests('relay_desk')).toEqual([])
    const child = await family.child()
    expect(await thread.respond(id, { env: { LOCK_KEY: KEY } })).toEqual({ child: child.threadId })
    await until('the report', () => family.requests('lead').length === 3)
    await thread.waitUntilIdle()
    expect(family.requests('locksmith')).toHaveLength(1)
    expect((await child.snapshot()).children).toMatchObject([{ name: 'vault', status: 'completed' }])
  })

  test('a deferred child starts while its parent waits for another one', async () => {
    const gate = createGate()
    const family = await families.start({
      voices: {
        lead: [calls(order('vault')), calls(order('helper')), done, done],
        locksmith: [draft],
        worker: [async () => (await gate.passed, draft)],
        judge: () => approve('Opened'),
      },
    })
    const { thread } = family
    await until('the other child', () => family.requests('worker').length === 1)
    const { request_id: id } = bootstrapOf((await toolResults(thread))[0])
    await thread.respond(id, { env: { LOCK_KEY: KEY } })
    const [vault, helper] = await family.children()
    await until(
      'the end of the child',
      async () => (await vault?.workflow.describe())?.status.name === 'COMPLETED',
    )
    // A thread that continues as new has no run for a moment.
    const doing = async (): Promise<unknown> => (await thread.snapshot()).run?.doing
    await until('the wait', async () => (await doing()) === `child ${helper?.threadId}`)
    expect(family.requests('lead')).toHaveLength(2)
    gate.open()
    await thread.waitUntilIdle()
    expect(await toolResults(thread)).toMatchObject([{ tool_status: 'error' }, { tool_status: 'success' }])
    expect((await silentOf(thread)).map(({ content }) => content)).toEqual([
      resultOf(vault?.threadId ?? '', marked('Opened')),
    ])
  })

  families.skippingTime('a request for variables ends after a week', async () => {
    const family = await families.start({ voices: { lead: [calls(order('vault')), done, done] } })
    const { thread } = family
    await thread.waitUntilIdle()
    const { request_id: id, endpoint } = bootstrapOf((await toolResults(thread))[0])
    await families.env.sleep('10081 minutes')
    await until('the news', () => family.requests('lead').length === 3)
    await thread.waitUntilIdle()
    const child = await family.child()
    const [news] = await silentOf(thread)
    expect(news?.content).toContain(`Subagent (reference: ${child.threadId}) has reported a failure:`)
    await expect(thread.respond(id, { env: { LOCK_KEY: KEY } })).rejects.toThrow(RequestNotFoundError)
    expect((await request(endpoint)).status).toBe(404)
    expect((await thread.snapshot()).pending).toEqual([])
    expect((await thread.snapshot()).children[0]?.status).not.toBe('deferred')
    expect(family.requests('locksmith')).toEqual([])
  })

  test('a terminated parent takes no variables, and nothing starts', async () => {
    const family = await families.start({ voices: { lead: [calls(order('vault')), done] } })
    const { thread } = family
    await thread.waitUntilIdle()
    const { endpoint, request_id: id } = bootstrapOf((await toolResults(thread))[0])
    const child = await family.child()
    await thread.terminate()
    expect((await request(endpoint)).status).toBe(404)
    expect((await request(endpoint, { env: { LOCK_KEY: KEY } })).status).toBe(404)
    await expect(thread.respond(id, { env: { LOCK_KEY: KEY } })).rejects.toThrow(RequestNotFoundError)
    await until('a closed parent', async () => (await thread.workflow.describe()).status.name !== 'RUNNING')
    await expect(child.workflow.describe()).rejects.toThrow()
    expect((await thread.snapshot()).children).toMatchObject([{ status: 'terminated' }])
    expect((await child.snapshot()).status).toBe('terminated')
  })

  async function request(path: string, body?: object): Promise<Response> {
    const app = createThreadApp({ client: families.env.threads, tokens: [{ token }] })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    return app.request(path, { headers, ...sent })
  }
})

function bootstrapOf(result: Message | undefined): Bootstrap {
  // Hooks and models get the same text.
  return JSON.parse(result?.content ?? '') as Bootstrap
}

function requestsOf(family: Family): readonly unknown[] {
  return ['lead', 'locksmith', 'relay_desk', 'judge', 'worker'].flatMap((prompt) => family.requests(prompt))
}

async function silentOf(thread: ThreadHandle): Promise<readonly Message[]> {
  const { messages } = await thread.messages({ includeSilent: true })
  return messages.filter(({ silent, role }) => silent && role === 'user')
}
