import { expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import { RequestNotFoundError } from '../../src/index.js'
import { marked } from '../support/marker.js'
import { factsOf, toolResults } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import { until } from '../support/until.js'

const guarded = { name: 'guarded', args: { task: marked('large') } }

/** The one request that a thread waits for. */
async function requestOf(thread: ThreadHandle) {
  const { pending } = await thread.snapshot()
  expect(pending).toHaveLength(1)
  const [request] = pending
  if (request === undefined) throw new Error('Expected a request.')
  return request
}

threeRuns((desk) => {
  desk.skippingTime('AR-CC.4 PL-AP.1 an approved call runs once, after days', async () => {
    let runs = 0
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [guarded] }, { text: marked('Done') }],
      tools: {
        guarded: () => {
          runs += 1
          return { status: 'success', result: marked('Allowed') }
        },
      },
    })
    expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
    await desk.env.sleep('3 days')
    // Other threads go on meanwhile.
    const other = await desk.start({ chat: [{ text: marked('Hi') }] })
    expect((await other.thread.waitUntilIdle()).reply?.content).toBe(marked('Hi'))
    const request = await requestOf(thread)
    expect(request).toMatchObject({ kind: 'approval', toolName: 'guarded', args: guarded.args })
    expect(runs).toBe(0)
    await thread.respond(request.id, { approved: true, by: 'ben' })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reply: { content: marked('Done') } })
    expect(runs).toBe(1)
    const facts = await factsOf(thread)
    expect(facts.find(({ type }) => type === 'action.resolved')?.payload).toMatchObject({ by: 'ben' })
  })

  test('a denied call tells the model why', async () => {
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [guarded] }, { text: marked('Then not') }],
    })
    await thread.waitUntilIdle()
    const { id } = await requestOf(thread)
    await thread.respond(id, { approved: false, reason: marked('Too expensive') })
    await thread.waitUntilIdle()
    const [result] = await toolResults(thread)
    expect(result).toMatchObject({ tool_status: 'error' })
    expect(result?.content).toContain(marked('Too expensive'))
  })

  test('lists say that a thread waits for a person, as its snapshot does, and what it began with', async () => {
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [guarded] }, { text: marked('Done') }],
    })
    expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
    const { threads } = desk.env
    const listed = async (status: string) => {
      const found = await threads.page({ root: thread.threadId, status })
      const { counts } = await threads.counts({ root: thread.threadId, status })
      expect(counts).toEqual(found.threads.length === 0 ? {} : { [status]: 1 })
      return found.threads
    }
    const { messages } = await thread.messages()
    const opening = messages[0]?.content
    expect(await listed('waiting_permission')).toMatchObject([{ status: 'waiting_permission', opening }])
    expect([await listed('running'), await listed('waiting_input')]).toEqual([[], []])
    expect(await threads.find(thread.threadId)).toMatchObject({ status: 'waiting_permission', title: null })
    await thread.respond((await requestOf(thread)).id, { approved: true })
    await thread.waitUntilIdle()
    expect(await listed('waiting_permission')).toEqual([])
    expect(await listed('idle')).toMatchObject([{ status: 'idle', opening }])
  })

  test('AR-CP.8 PL-AP.2 the same answer again is fine, another one is refused', async () => {
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [guarded] }, { text: marked('Done') }],
    })
    await thread.waitUntilIdle()
    const { id } = await requestOf(thread)
    await thread.respond(id, { approved: true })
    await thread.respond(id, { approved: true })
    await thread.waitUntilIdle()
    await thread.respond(id, { approved: true })
    const resolved = (await factsOf(thread)).filter(({ type }) => type === 'action.resolved')
    expect(resolved).toMatchObject([{ payload: { requestId: id, decision: 'approved' } }])
    await expect(thread.respond(id, { approved: false })).rejects.toSatisfy(RequestNotFoundError.isInstance)
    await expect(thread.respond('nothing', { approved: true })).rejects.toSatisfy(
      RequestNotFoundError.isInstance,
    )
  })

  test('a call that needs no approval runs at once', async () => {
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [
        { toolCalls: [{ name: 'guarded', args: { task: `small ${marked('one')}` } }] },
        { text: marked('Done') },
      ],
    })
    expect((await thread.waitUntilIdle()).status).toBe('idle')
  })

  test('a needsApproval that throws asks a person', async () => {
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [{ ...guarded, name: 'doubtful' }] }, { text: marked('Done') }],
    })
    expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
    await thread.respond((await requestOf(thread)).id, { approved: true })
    expect((await thread.waitUntilIdle()).status).toBe('idle')
  })

  test('AR-VA.4 AR-CF.3 AR-ES.5 words of the person or of the model neither approve nor complete', async () => {
    const { thread, chat } = await desk.start({
      agent: 'manager',
      chat: [
        { toolCalls: [{ name: 'work', args: { task: marked('fail') } }] },
        { text: marked('All is done and completed'), toolCalls: [guarded] },
        { text: marked('Done') },
      ],
      tools: { work: () => ({ status: 'error', error: marked('broken') }) },
    })
    await thread.waitUntilIdle()
    await thread.send(marked('Yes, approved, go ahead'))
    await until('the message', async () => (await thread.snapshot()).queue.length === 1)
    const request = await requestOf(thread)
    expect((await thread.snapshot()).status).toBe('waiting_permission')
    expect((await factsOf(thread)).map(({ type }) => type)).not.toContain('run.completed')
    // The failed call is still told beside the open one, also where the thread has continued as new between them.
    expect(await toolResults(thread)).toMatchObject([{ name: 'work', tool_status: 'error' }])
    expect(chat.requests).toHaveLength(2)
    await thread.respond(request.id, { approved: false })
    await thread.waitUntilIdle()
    expect((await toolResults(thread)).map(({ tool_status }) => tool_status)).toEqual(['error', 'error'])
  })

  test('PL-CX.6 a stop ends a waiting call, and a later answer is refused', async () => {
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [guarded] }, { text: marked('Anew') }],
    })
    await thread.waitUntilIdle()
    const { id } = await requestOf(thread)
    await thread.stop()
    await thread.waitUntilIdle()
    expect((await thread.snapshot()).pending).toEqual([])
    await expect(thread.respond(id, { approved: true })).rejects.toSatisfy(RequestNotFoundError.isInstance)
    await thread.send(marked('Go on'))
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Anew'))
  })

  test('PL-CX.6 terminate cancels a waiting call, and a later answer is refused', async () => {
    const { thread } = await desk.start({ agent: 'manager', chat: [{ toolCalls: [guarded] }] })
    await thread.waitUntilIdle()
    const { id } = await requestOf(thread)
    await thread.terminate()
    await thread.waitUntilIdle()
    await expect(thread.respond(id, { approved: true })).rejects.toSatisfy(RequestNotFoundError.isInstance)
    const results = (await factsOf(thread)).filter(({ type }) => type === 'tool.result')
    expect(results).toMatchObject([{ payload: { outcome: 'cancelled' } }])
  })

  desk.skippingTime('KP-03.7 KP-03.0 a pending call takes its result from outside, after days', async () => {
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [
        { toolCalls: [{ name: 'work', args: { task: marked('ask') } }] },
        (request) => ({ text: `${request.messages.at(-1)?.text}` }),
      ],
      tools: { work: () => ({ status: 'pending' }) },
    })
    expect((await thread.waitUntilIdle()).status).toBe('waiting_input')
    await desk.env.sleep('3 days')
    const events = (await desk.runs(thread.threadId)).flatMap(({ history }) => history.events ?? [])
    expect(events.filter(({ timerStartedEventAttributes: timer }) => timer != null)).toEqual([])
    const request = await requestOf(thread)
    expect(request.kind).toBe('call')
    await thread.respond(request.id, { result: { status: 'success', result: marked('From the webhook') } })
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('From the webhook'))
  })

  test('PL-AP.8 a call by code is asked about before it runs, and needs no model', async () => {
    let runs = 0
    const { thread, chat } = await desk.start({
      agent: 'manager',
      message: null,
      chat: [{ text: marked('Seen') }],
      tools: { guarded: () => ({ status: 'success', result: marked(`run ${(runs += 1)}`) }) },
    })
    await thread.queueTool('guarded', guarded.args)
    await until('a request', async () => (await thread.snapshot()).status === 'waiting_permission')
    const request = await requestOf(thread)
    expect(request).toMatchObject({ kind: 'approval', toolName: 'guarded', args: guarded.args })
    expect([runs, chat.requests.length]).toEqual([0, 0])
    await thread.respond(request.id, { approved: true })
    await thread.waitUntilIdle()
    expect(runs).toBe(1)
  })

  test('a result that comes before its tool says pending is the result', async () => {
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [
        { toolCalls: [{ name: 'work', args: { task: marked('ask') } }] },
        (request) => ({ text: `${request.messages.at(-1)?.text}` }),
      ],
      tools: {
        // A webhook that is faster than the tool: it has the id from its arguments.
        work: async ({ threadId }, _args, { id }) => {
          const result = { status: 'success', result: marked('Fast') } as const
          await desk.env.threads.get(threadId).respond(id, { result })
          return { status: 'pending' }
        },
      },
    })
    const { reply, status } = await thread.waitUntilIdle()
    expect({ status, reply: reply?.content }).toEqual({ status: 'idle', reply: marked('Fast') })
    const decided = (await factsOf(thread)).filter(({ type }) => type.startsWith('action.'))
    expect(decided.map(({ type }) => type)).toEqual(['action.required', 'action.resolved'])
  })

  const form = {
    type: 'object',
    properties: { boxes: { type: 'integer', minimum: 1 } },
    required: ['boxes'],
    additionalProperties: false,
  } as const

  test('a pending call may ask for a form: what does not fit is refused, and the call waits on', async () => {
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [
        { toolCalls: [{ name: 'work', args: { task: marked('ask') } }] },
        (request) => ({ text: `${request.messages.at(-1)?.text}` }),
      ],
      tools: { work: () => ({ status: 'pending', form }) },
    })
    await thread.waitUntilIdle()
    const request = await requestOf(thread)
    expect(request).toMatchObject({ kind: 'call', form })
    for (const result of [{ boxes: 0 }, { boxes: 2, more: 1 }, 'two', undefined])
      await expect(
        thread.respond(request.id, {
          result: { status: 'success', ...(result !== undefined && { result }) },
        }),
      ).rejects.toThrow('that fits the form')
    await thread.respond(request.id, { result: { status: 'success', result: { boxes: 2 } } })
    expect((await thread.waitUntilIdle()).reply?.content).toBe('{"boxes":2}')
  })

  test.each([
    ['an answer that came before, and does not fit', form, 'The answer does not fit: boxes'],
    [
      'a form that is no JSON Schema',
      { type: 'whatever' },
      'The tool answered with a "form" that is no JSON Schema',
    ],
  ] as const)('a form and %s: the call fails', async (_, asked, told) => {
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [{ name: 'work', args: { task: marked('ask') } }] }, { text: marked('Done') }],
      tools: {
        work: async ({ threadId }, _args, { id }) => {
          const result = { status: 'success', result: { boxes: 0 } } as const
          await desk.env.threads.get(threadId).respond(id, { result })
          return { status: 'pending', form: asked }
        },
      },
    })
    await thread.waitUntilIdle()
    expect((await toolResults(thread))[0]?.content).toContain(told)
  })

  test('open requests of all threads are listed', async () => {
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [guarded] }, { text: marked('Done') }],
    })
    await thread.waitUntilIdle()
    const open: string[] = []
    for await (const { threadId, kind } of desk.env.threads.pending({ agent: 'manager' }))
      if (threadId === thread.threadId) open.push(kind)
    expect(open).toEqual(['approval'])
    await thread.respond((await requestOf(thread)).id, { approved: true })
    await thread.waitUntilIdle()
    for await (const { threadId } of desk.env.threads.pending()) expect(threadId).not.toBe(thread.threadId)
  })
})
