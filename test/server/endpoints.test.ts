import { describe, expect, test } from 'vitest'
import type { ThreadClient } from '../../src/client/index.js'
import type { ThreadEndpoint, ThreadState } from '../../src/index.js'
import { TemporalUnavailableError } from '../../src/protocol/errors.js'
import { LIMITS } from '../../src/protocol/limits.js'
import { createThreadApp } from '../../src/server/index.js'
import { stageQueuedTool } from '../../src/store/messages/queued-tools.js'
import { addChildRows } from '../support/child-rows.js'
import { deskOfTests as desk } from './desk-of-tests.js'
import { endpointFixture, routes } from './endpoint-fixture.js'
import { ACME, GLOBEX, OPERATOR } from './server-fixture.js'

const fixture = endpointFixture()
const { ask, run, inEndpoint, answered, logged } = fixture

describe('a thread endpoint', () => {
  test('is found by path and method, and gets what its name leaves open', async () => {
    expect(await (await ask('orders/A%2F17')).json()).toEqual({ id: 'A/17', thread: fixture.thread.threadId })
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
      ...{ threadId: fixture.thread.threadId, agentId: 'support', userId: null },
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
      expect((await fixture.thread.statFile('/notes/a.txt'))?.size).toBe(file.size)
      const message = await state.injectMessage({ role: 'user', content: 'From the web' })
      expect(message.position).toBe(1)
      const changed = await state.updateMessage(message.id, { content: 'Changed' })
      expect((await state.getMessage(message.id))?.content).toBe(changed.content)
      expect(await state.deleteMessage(message.id)).toBe(true)
      await state.unlinkFile('/notes/a.txt')
    })
    expect((await fixture.thread.messages()).messages).toEqual([])
    expect(await fixture.thread.statFile('/notes/a.txt')).toBeNull()
  })

  test('KP-00.1 PL-LC.1 wakes the thread by the signal of a client and of HTTP: a message is answered', async () => {
    const { thread } = fixture
    const reply = async () => (await thread.waitUntilIdle()).reply?.content
    await answered((_request, state) => state.queueMessage({ role: 'user', content: 'From an endpoint' }))
    expect(await reply()).toBe('Heard: From an endpoint')
    const sent = await fixture.app.request(`/threads/${thread.threadId}/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ACME}`, 'content-type': 'application/json' },
      body: JSON.stringify({ content: 'Over HTTP' }),
    })
    expect(sent.status).toBe(202)
    expect(await reply()).toBe('Heard: Over HTTP')
    await thread.send('By the client')
    expect(await reply()).toBe('Heard: By the client')
    const { events } = await thread.workflow.fetchHistory()
    const signals = (events ?? []).flatMap(
      ({ workflowExecutionSignaledEventAttributes: signal }) => signal?.signalName ?? [],
    )
    expect(signals).toEqual(['queueMessage', 'queueMessage', 'queueMessage'])
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
    await fixture.thread.terminate()
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
    const respond = () =>
      run(async (_request, state) => {
        void write(state)
        return Response.json({})
      })
    expect((await respond()).status).toBe(200)
    expect(await answered((_request, state) => look(state))).toBe(1)
    await fixture.thread.terminate()
    expect((await respond()).status).toBe(409)
  })

  test('and fails is over where the endpoint has caught it', async () => {
    await fixture.thread.terminate()
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
    await fixture.env.sleep('2 minutes')
    await fixture.thread.waitUntilIdle()
    expect(await answered((_request, state) => state.getValue('reminded'))).toBe(true)
  })

  test('tells those who follow: its events are there when it has answered', async () => {
    await answered((_request, state) => state.emit('visited', { page: 1 }))
    const names = []
    for await (const event of fixture.thread.events({ follow: false }))
      if (event.type === 'custom') names.push(event.payload.name)
    expect(names).toEqual(['visited'])
  })

  test('ends the thread', async () => {
    await answered((_request, state) => state.terminate())
    expect((await fixture.thread.waitUntilIdle()).status).toBe('terminated')
  })
})

test('a tool is queued from an endpoint and runs in its thread', async () => {
  await answered((_request, state) => {
    state.queueTool('look_up', { what: 'first' })
    state.queueTool('look_up', { what: 'second' })
  })
  await fixture.thread.waitUntilIdle()
  expect(await answered((_request, state) => state.getValue('looked'))).toBe('second')
  const { messages } = await fixture.thread.messages()
  expect(messages.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
    'Found first',
    'Found second',
  ])
})

test('what is begun behind what was read is done before the caller is answered', async () => {
  const began = await run((_request, state) => {
    void state.getValue('nothing').then(() => state.queueTool('look_up', { what: 'behind' }))
    return Response.json({})
  })
  expect(began.status).toBe(200)
  const waiting = await fixture.env.store.read((db) =>
    db.selectFrom('tool_calls').select('name').where('thread_id', '=', fixture.thread.threadId).execute(),
  )
  expect(waiting).toEqual([{ name: 'look_up' }])
  const failed = await run((_request, state) => {
    void state.getValue('nothing').then(() => state.queueTool('look_up', { what: 7n } as never))
    return Response.json({})
  })
  expect(failed.status).toBe(500)
})

test('an endpoint reaches the threads around its own, and what it does there acts at once', async () => {
  const child = {
    id: `child-of-${fixture.thread.threadId}`,
    parent: fixture.thread.threadId,
    root: fixture.thread.threadId,
  }
  await addChildRows(fixture.env.store, { ...child, thread: { account: 'acme', agent: 'support' } })
  await answered(async (_request, state) => {
    const below = await state.getChildThread(child.id)
    await below?.setValue('note', 'from above')
    expect(await below?.getValue('note')).toBe('from above')
    expect((await below?.getParentThread())?.threadId).toBe(fixture.thread.threadId)
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
    const kept = await fixture.env.store.read((db) =>
      findError(db, `${fixture.thread.threadId}:${requestId}`),
    )
    expect(kept?.message).toBe('The key [secret SHOP_KEY] is of order 1234')
  })

  test('keeps each of its failures, also under one id of a request', async () => {
    for (const words of ['first', 'second']) {
      const failing = () => {
        throw new Error(words)
      }
      await run(failing, { headers: { 'x-request-id': 'always-this' } })
    }
    const kept = await fixture.env.store.read((db) =>
      db.selectFrom('errors').select('message').where('thread_id', '=', fixture.thread.threadId).execute(),
    )
    expect(kept.map(({ message }) => message).toSorted()).toEqual(['first', 'second'])
  })

  test('where Temporal does not answer is not told to come again', async () => {
    const response = await inEndpoint(() => {
      const { threadId } = fixture.thread
      throw new TemporalUnavailableError(threadId, { address: '10.0.0.1:7233', problem: 'no answer' })
    })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, null])
    const { error } = (await response.json()) as { error: { code: string; message: string } }
    expect([error.code, error.message]).toEqual(['endpoint_failed', expect.stringContaining('look before')])
    expect(error.message).not.toContain('10.0.0.1')
  })

  test('queues no tool where the queue is full, and says so', async () => {
    const waiting = Array.from(
      { length: LIMITS.queuedItems },
      (_, index) => `${fixture.thread.threadId}-${index}`,
    )
    await fixture.env.store.write(async (tx) => {
      for (const toolCallId of waiting) {
        const call = { threadId: fixture.thread.threadId, toolCallId, name: 'look_up', args: {}, now: 1 }
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
    expect((await run((() => 'words') as unknown as ThreadEndpoint)).status).toBe(500)
  })
})

test.each([
  ['a name that is none', { routes: { '../x': routes.page } }, 'to be named as in'],
  ['one path twice', { routes: { 'a/[x]': routes.page, 'a/[y]': routes.page } }, 'to differ'],
  ['no time', { routes, timeout: 0 }, '"endpoints.timeout" to be whole milliseconds'],
  ['time that no timer takes', { routes, timeout: 2 ** 31 }, 'got 2147483648'],
])('endpoints with %s are refused before anything starts', (_what, given, words) => {
  const client = fixture.env.threads as ThreadClient
  const endpoints = { registry: desk, ...given }
  expect(() => createThreadApp({ client, tokens: [{ token: OPERATOR }], endpoints })).toThrow(words)
})
