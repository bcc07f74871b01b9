import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import type { ThreadClient, ThreadHandle } from '../../src/client/index.js'
import { defineThreadEndpoint } from '../../src/index.js'
import type { ThreadEndpoint, ThreadState } from '../../src/index.js'
import { LIMITS } from '../../src/protocol/limits.js'
import { TemporalUnavailableError } from '../../src/protocol/thread-error.js'
import { createThreadApp } from '../../src/server/index.js'
import type { RequestEntry } from '../../src/server/index.js'
import { stageQueuedTool } from '../../src/store/stage-queued-tool.js'
import { createTestEnvironment, scriptedModel } from '../../src/testing/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { addChildRows } from '../support/child-rows.js'
import { createGate } from '../support/gate.js'
import { deskOfTests as desk } from './desk-of-tests.js'
import { ACME, GLOBEX, OPERATOR } from './server-fixture.js'

/** What the test at hand does in its endpoint. */
let work: ThreadEndpoint

const routes = {
  'work.post': defineThreadEndpoint((...given) => work(...given)),
  'orders/[id]': defineThreadEndpoint((_request, state, { id }) =>
    Response.json({ id, thread: state.threadId }),
  ),
  'files/[*]': defineThreadEndpoint((_request, _state, params) => Response.json(params)),
  page: defineThreadEndpoint(() => Response.redirect('https://example.org/', 302)),
}

let env: TestEnvironment
let thread: ThreadHandle
let app: ReturnType<typeof createThreadApp>
const logged: RequestEntry[] = []

beforeAll(async () => {
  const chat = scriptedModel(({ messages }) => ({ text: `Heard: ${messages.at(-1)?.text}` }))
  env = await createTestEnvironment({ registry: desk, models: { chat } })
  app = createThreadApp({
    client: env.threads as ThreadClient,
    tokens: [{ token: OPERATOR }, { token: ACME, account: 'acme' }, { token: GLOBEX, account: 'globex' }],
    endpoints: { routes, registry: desk, env: { SHOP_KEY: 'sesame-sesame' } },
    log: (entry) => logged.push(entry),
  })
})
afterAll(() => env.close())
beforeEach(async () => {
  thread = await env.threads.create({ agent: 'support', account: 'acme' })
})

async function ask(
  path: string,
  { token = ACME, method = 'GET', id = thread.threadId } = {},
): Promise<Response> {
  return app.request(`/threads/${id}/api/${path}`, { method, headers: { authorization: `Bearer ${token}` } })
}

/** Runs code in an endpoint; what it answers comes back as JSON. */
async function inEndpoint(code: (...given: Parameters<ThreadEndpoint>) => unknown): Promise<Response> {
  work = async (...given) => Response.json({ answer: (await code(...given)) ?? null })
  return ask('work', { method: 'POST' })
}

async function answered(code: (...given: Parameters<ThreadEndpoint>) => unknown): Promise<unknown> {
  const response = await inEndpoint(code)
  expect(response.status).toBe(200)
  return ((await response.json()) as { answer: unknown }).answer
}

describe('a thread endpoint', () => {
  test('is found by path and method, and gets what its name leaves open', async () => {
    expect(await (await ask('orders/A%2F17')).json()).toEqual({ id: 'A/17', thread: thread.threadId })
    expect(await (await ask('files/a/b.txt')).json()).toEqual({ '*': 'a/b.txt' })
    expect((await ask('page')).status).toBe(302)
    expect((await ask('nothing')).status).toBe(404)
    const other = await ask('orders/A-17', { method: 'POST' })
    expect([other.status, other.headers.get('allow')]).toEqual([405, 'GET'])
    expect((await ask('orders/%ff')).status).toBe(400)
  })

  test("is there for the thread's account alone", async () => {
    for (const [token, status] of [
      [ACME, 200],
      [OPERATOR, 200],
      [GLOBEX, 404],
      ['', 401],
    ] as const)
      expect((await ask('orders/A-17', { token })).status).toBe(status)
    expect((await ask('orders/A-17', { id: 'nobody' })).status).toBe(404)
  })

  test('knows its thread, and that no run is under way', async () => {
    const known = await answered(
      (_request, { threadId, agentId, userId, terminated, execution, context, children }) => ({
        ...{ threadId, agentId, userId, terminated, execution, context, children },
      }),
    )
    expect(known).toEqual({
      ...{ threadId: thread.threadId, agentId: 'support', userId: null },
      ...{ terminated: null, execution: null, context: {}, children: [] },
    })
  })
})

describe('what an endpoint writes', () => {
  test('acts at once: the next line of it reads it, and so does everybody', async () => {
    await answered(async (_request, state) => {
      await state.setValue('visits', 1)
      expect(await state.getValue('visits')).toBe(1)
      const file = await state.writeFile('/notes/a.txt', 'words', 'text/plain')
      expect((await thread.statFile('/notes/a.txt'))?.size).toBe(file.size)
      const message = await state.injectMessage({ role: 'user', content: 'From the web' })
      expect(message.position).toBe(1)
      const changed = await state.updateMessage(message.id, { content: 'Changed' })
      expect((await state.getMessage(message.id))?.content).toBe(changed.content)
      expect(await state.deleteMessage(message.id)).toBe(true)
      await state.unlinkFile('/notes/a.txt')
    })
    expect((await thread.messages()).messages).toEqual([])
    expect(await thread.statFile('/notes/a.txt')).toBeNull()
  })

  test('wakes the thread: a message is answered', async () => {
    await answered((_request, state) => state.queueMessage({ role: 'user', content: 'Hello' }))
    expect((await thread.waitUntilIdle()).reply?.content).toBe('Heard: Hello')
  })

  test('is kept when it throws later', async () => {
    const response = await inEndpoint(async (_request, state) => {
      await state.setValue('kept', true)
      throw new Error('Too bad')
    })
    expect(response.status).toBe(500)
    expect(await answered((_request, state) => state.getValue('kept'))).toBe(true)
  })

  test('is refused by a thread that is closed, which it can read', async () => {
    await thread.terminate()
    expect(await answered((_request, state) => state.getValue('none'))).toBeNull()
    expect((await inEndpoint((_request, state) => state.setValue('x', 1))).status).toBe(409)
  })

  test.each<[string, (state: ThreadState) => unknown, (state: ThreadState) => unknown]>([
    ['a value', (state) => state.setValue('done', 1), (state) => state.getValue('done')],
    [
      'a message',
      (state) => state.injectMessage({ role: 'user', content: 'x' }),
      async (state) => (await state.getMessages()).total,
    ],
    [
      'a chain',
      (state) => state.setValue('first', 1).then(() => state.setValue('second', 1)),
      (state) => state.getValue('second'),
    ],
  ])('as %s without await is waited for, and its failure is the answer', async (_what, write, look) => {
    const respond = () => {
      work = async (_request, state) => {
        void write(state)
        return Response.json({})
      }
      return ask('work', { method: 'POST' })
    }
    expect((await respond()).status).toBe(200)
    expect(await answered((_request, state) => look(state))).toBe(1)
    await thread.terminate()
    expect((await respond()).status).toBe(409)
  })

  test('and fails is over where the endpoint has caught it', async () => {
    await thread.terminate()
    const said = await answered((_request, state) =>
      state.setValue('x', 1).then(
        () => 'written',
        (error: Error) => error.name,
      ),
    )
    expect(said).toBe('ThreadTerminatedError')
  })

  test('runs an effect when it is due', async () => {
    const id = await answered((_request, state) => state.scheduleEffect('remind', {}, 60_000))
    expect(await answered((_request, state) => state.getScheduledEffects())).toMatchObject([
      { id, name: 'remind' },
    ])
    await env.sleep('2 minutes')
    await thread.waitUntilIdle()
    expect(await answered((_request, state) => state.getValue('reminded'))).toBe(true)
  })

  test('tells those who follow: its events are there when it has answered', async () => {
    await answered((_request, state) => state.emit('visited', { page: 1 }))
    const names = []
    for await (const event of thread.events({ follow: false }))
      if (event.type === 'custom') names.push(event.payload.name)
    expect(names).toEqual(['visited'])
  })

  test('ends the thread', async () => {
    await answered((_request, state) => state.terminate())
    expect((await thread.waitUntilIdle()).status).toBe('terminated')
  })
})

test('a tool is queued from an endpoint and runs in its thread; invokeTool says so', async () => {
  await answered((_request, state) => {
    state.queueTool('look_up', { what: 'first' })
    state.queueTool('look_up', { what: 'second' })
  })
  await thread.waitUntilIdle()
  expect(await answered((_request, state) => state.getValue('looked'))).toBe('second')
  const { messages } = await thread.messages()
  expect(messages.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
    'Found first',
    'Found second',
  ])
  const refused = await answered((_request, state) =>
    state.invokeTool('look_up', { what: 'x' }).catch((error: Error) => error.message),
  )
  expect(refused).toContain('use queueTool')
})

test('an endpoint reaches the threads around its own, and what it does there acts at once', async () => {
  const child = { id: `child-of-${thread.threadId}`, parent: thread.threadId, root: thread.threadId }
  await addChildRows(env.store, { ...child, thread: { account: 'acme', agent: 'support' } })
  await answered(async (_request, state) => {
    const below = await state.getChildThread(child.id)
    await below?.setValue('note', 'from above')
    expect(await below?.getValue('note')).toBe('from above')
    expect((await below?.getParentThread())?.threadId).toBe(thread.threadId)
    expect(await state.getChildThread('nobody')).toBeNull()
    expect(await state.getParentThread()).toBeNull()
  })
})

describe('an endpoint that fails', () => {
  test('tells its words to the store, and to nobody else', async () => {
    const response = await inEndpoint(async (_request, state) => {
      throw new Error(`The key ${await state.env('SHOP_KEY')} is of order 1234`)
    })
    const text = await response.text()
    const { requestId, code } = JSON.parse(text).error
    expect([response.status, code]).toEqual([500, 'internal'])
    for (const said of [text, JSON.stringify(logged.at(-1))]) expect(said).not.toMatch(/sesame|1234/)
    const { findError } = await import('../../src/store/errors.js')
    const kept = await env.store.read((db) => findError(db, `${thread.threadId}:${requestId}`))
    expect(kept?.message).toBe('The key [secret SHOP_KEY] is of order 1234')
  })

  test('keeps each of its failures, also under one id of a request', async () => {
    for (const words of ['first', 'second']) {
      work = () => {
        throw new Error(words)
      }
      const headers = { authorization: `Bearer ${ACME}`, 'x-request-id': 'always-this' }
      await app.request(`/threads/${thread.threadId}/api/work`, { method: 'POST', headers })
    }
    const kept = await env.store.read((db) =>
      db.selectFrom('errors').select('message').where('thread_id', '=', thread.threadId).execute(),
    )
    expect(kept.map(({ message }) => message).toSorted()).toEqual(['first', 'second'])
  })

  test('where Temporal does not answer is not told to come again', async () => {
    const response = await inEndpoint(() => {
      const { threadId } = thread
      throw new TemporalUnavailableError(threadId, { address: '10.0.0.1:7233', problem: 'no answer' })
    })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, null])
    const { error } = (await response.json()) as { error: { code: string; message: string } }
    expect([error.code, error.message]).toEqual(['endpoint_failed', expect.stringContaining('look before')])
    expect(error.message).not.toContain('10.0.0.1')
  })

  test('queues no tool where the queue is full, and says so', async () => {
    const waiting = Array.from({ length: LIMITS.queuedItems }, (_, index) => `${thread.threadId}-${index}`)
    await env.store.write(async (tx) => {
      for (const toolCallId of waiting) {
        const call = { threadId: thread.threadId, toolCallId, name: 'look_up', args: {}, now: 1 }
        await stageQueuedTool(tx, { ...call, sentBy: 'client' })
      }
    })
    const response = await inEndpoint((_request, state) => state.queueTool('look_up', { what: 'x' }))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: 'message_rejected' } })
  })

  test('by what it only began, or by no Response, is 500', async () => {
    const began = await inEndpoint((_request, state) => state.queueTool('look_up', { what: 7n } as never))
    expect(began.status).toBe(500)
    work = (() => 'words') as unknown as ThreadEndpoint
    expect((await ask('work', { method: 'POST' })).status).toBe(500)
  })
})

describe('an endpoint that takes too long', () => {
  const slow = () =>
    createThreadApp({
      client: env.threads as ThreadClient,
      tokens: [{ token: ACME, account: 'acme' }],
      endpoints: { routes, registry: desk, timeout: 100 },
      log: (entry) => logged.push(entry),
    }).request(`/threads/${thread.threadId}/api/work`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ACME}` },
    })

  test('is 504, told so by the signal of its request, and keeps what it wrote', async () => {
    const late = new Promise<unknown>((resolve) => {
      work = async ({ signal }, state) => {
        await state.setValue('awaited', 1)
        state.queueTool('look_up', { what: 'begun' })
        void state.setValue('begun', 1)
        await new Promise((stop) => signal.addEventListener('abort', stop))
        await state.setValue('late', 1).catch(resolve)
        return Response.json({})
      }
    })
    const response = await slow()
    expect([response.status, response.headers.get('retry-after')]).toEqual([504, null])
    const { error } = (await response.json()) as { error: { code: string; message: string } }
    expect(error).toMatchObject({
      code: 'endpoint_timeout',
      message: expect.stringContaining('within 0.1 seconds'),
    })
    expect(logged.at(-1)).toMatchObject({ status: 504, error: { code: 'endpoint_timeout' } })
    expect(String(await late)).toContain('The endpoint has ended')
    expect(
      await answered((_request, state) =>
        Promise.all(['awaited', 'begun', 'late'].map((key) => state.getValue(key))),
      ),
    ).toEqual([1, 1, null])
    await thread.waitUntilIdle()
    expect(await answered((_request, state) => state.getValue('looked'))).toBe('begun')
  })

  test('and answers or throws then is heard by nobody', async () => {
    const cancelled: unknown[] = []
    const over = createGate()
    const body = () => new ReadableStream({ cancel: (why) => void cancelled.push(why) })
    work = async () => {
      await over.passed
      return new Response(body())
    }
    expect((await slow()).status).toBe(504)
    work = async () => {
      await over.passed
      throw new Error('Too late')
    }
    expect((await slow()).status).toBe(504)
    over.open()
    await expect.poll(() => cancelled).toHaveLength(1)
    expect((await ask('orders/A-17')).status).toBe(200)
  })
})

test.each([
  ['a name that is none', { routes: { '../x': routes.page } }, 'to be named as in'],
  ['one path twice', { routes: { 'a/[x]': routes.page, 'a/[y]': routes.page } }, 'to differ'],
  ['no time', { routes, timeout: 0 }, '"endpoints.timeout" to be whole milliseconds'],
  ['time that no timer takes', { routes, timeout: 2 ** 31 }, 'got 2147483648'],
])('endpoints with %s are refused before anything starts', (_what, given, words) => {
  const client = env.threads as ThreadClient
  const endpoints = { registry: desk, ...given }
  expect(() => createThreadApp({ client, tokens: [{ token: OPERATOR }], endpoints })).toThrow(words)
})
