import { expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import { RequestNotFoundError } from '../../src/index.js'
import { marked } from '../support/marker.js'
import { factsOf, toolResults } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'

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
  desk.skippingTime('an approved call runs once, after days', async () => {
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

  test('the same answer again is fine, another one is refused', async () => {
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

  test('chat text never approves', async () => {
    const { thread, chat } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [guarded] }, { text: marked('Done') }],
    })
    await thread.waitUntilIdle()
    await thread.send(marked('Yes, approved, go ahead'))
    const request = await requestOf(thread)
    expect(chat.requests).toHaveLength(1)
    await thread.respond(request.id, { approved: false })
    await thread.waitUntilIdle()
    expect((await toolResults(thread))[0]?.tool_status).toBe('error')
  })

  test('a stop ends a waiting call, and a later answer is refused', async () => {
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

  test('terminate cancels a waiting call, and a later answer is refused', async () => {
    const { thread } = await desk.start({ agent: 'manager', chat: [{ toolCalls: [guarded] }] })
    await thread.waitUntilIdle()
    const { id } = await requestOf(thread)
    await thread.terminate()
    await thread.waitUntilIdle()
    await expect(thread.respond(id, { approved: true })).rejects.toSatisfy(RequestNotFoundError.isInstance)
    const results = (await factsOf(thread)).filter(({ type }) => type === 'tool.result')
    expect(results).toMatchObject([{ payload: { outcome: 'cancelled' } }])
  })

  test('a pending call takes its result from outside', async () => {
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [
        { toolCalls: [{ name: 'work', args: { task: marked('ask') } }] },
        (request) => ({ text: `${request.messages.at(-1)?.text}` }),
      ],
      tools: { work: () => ({ status: 'pending' }) },
    })
    expect((await thread.waitUntilIdle()).status).toBe('waiting_input')
    const request = await requestOf(thread)
    expect(request.kind).toBe('call')
    await thread.respond(request.id, { result: { status: 'success', result: marked('From the webhook') } })
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('From the webhook'))
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
