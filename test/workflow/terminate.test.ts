import { expect, test } from 'vitest'
import { ThreadTerminatedError } from '../../src/protocol/errors.js'
import { assertEvents } from '../../src/testing/index.js'
import { createGate } from '../support/gate.js'
import { activityEvents } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { factTypes, toolResults, transcript } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import { until } from '../support/until.js'

const work = { name: 'work', args: { task: marked('count') } }

threeRuns((desk) => {
  test('SA-R-10.0 SA-R-10.1 PL-CX.11 terminate closes softly and leaves its time', async () => {
    const { thread } = await desk.start({ chat: [{ text: marked('Hi') }] })
    await thread.waitUntilIdle()
    expect((await thread.snapshot()).terminated).toBeNull()
    await thread.terminate({ reason: marked('Enough') })
    await closed(thread.threadId)
    expect((await thread.workflow.describe()).status.name).toBe('CANCELLED')
    const snapshot = await thread.snapshot()
    expect(snapshot.status).toBe('terminated')
    expect(snapshot.terminated).toEqual(expect.any(Number))
    // It is in no list of what is active, and in the store.
    const listed = async (status: 'idle' | 'running' | 'terminated'): Promise<readonly string[]> => {
      const ids: string[] = []
      for await (const { threadId } of desk.env.threads.list({ status })) ids.push(threadId)
      return ids
    }
    for (const status of ['idle', 'running'] as const)
      expect(await listed(status)).not.toContain(thread.threadId)
    expect(await listed('terminated')).toContain(thread.threadId)
    expect((await transcript(thread)).at(-1)?.content).toBe(marked('Hi'))
  })

  test('SA-R-10.2 SA-R-12.4 PL-CX.6 PL-CX.7 terminate aborts the tool in flight', async () => {
    let aborted = false
    const { thread, chat } = await desk.start({
      chat: [{ toolCalls: [work, work] }],
      tools: {
        work: (state) =>
          new Promise((_, reject) => {
            state.execution?.abortSignal.addEventListener('abort', () => {
              aborted = true
              reject(new Error('aborted'))
            })
          }),
      },
    })
    await until('a running tool', async () => (await factTypes(thread)).includes('tool.started'))
    await thread.terminate()
    await closed(thread.threadId)
    expect(aborted).toBe(true)
    const events = activityEvents(await desk.runs(thread.threadId))
    expect(events).toContainEqual(expect.objectContaining({ kind: 'cancel_requested' }))
    expect(await toolResults(thread)).toHaveLength(2)
    expect(chat.requests).toHaveLength(1)
    await assertEvents(thread, ['tool.started', 'run.cancelled', 'thread.closed'])
  })

  test('SA-R-10.2 PL-CX.6 PL-CX.7 terminate aborts the model call in flight', async () => {
    const gate = createGate()
    const { thread, chat } = await desk.start({
      chat: [async () => (await gate.passed, { text: marked('Late') })],
    })
    await until('a request', () => chat.requests.length === 1)
    await thread.terminate()
    await closed(thread.threadId)
    gate.open()
    const events = activityEvents(await desk.runs(thread.threadId))
    expect(events).toContainEqual({ kind: 'cancel_requested', activity: 'thread.callModel' })
    expect((await transcript(thread)).some(({ content }) => content === marked('Late'))).toBe(false)
  })

  test('SA-R-10.3 a terminated thread refuses everything by name', async () => {
    const { thread } = await desk.start({ chat: [{ text: marked('Hi') }] })
    await thread.waitUntilIdle()
    await thread.terminate()
    const before = await transcript(thread)
    const refusals = [
      () => thread.send(marked('Hello?')),
      () => thread.continue(),
      () => thread.stop(),
      () =>
        desk.env.threads.create({
          agent: 'clerk',
          id: thread.threadId,
          message: { content: marked('Again'), id: `${thread.threadId}-again` },
        }),
    ]
    for (const refused of [...refusals, ...(await afterClose(thread.threadId, refusals))])
      expect(await refused().catch((error: unknown) => error)).toSatisfy(ThreadTerminatedError.isInstance)
    expect(await transcript(thread)).toEqual(before)
  })

  test('SA-R-10.3 messages that were not delivered are rejected', async () => {
    const gate = createGate()
    const { thread, chat } = await desk.start({
      chat: [async () => (await gate.passed, { text: marked('Late') })],
    })
    await until('a request', () => chat.requests.length === 1)
    const { messageId } = await thread.send(marked('Waiting'))
    await thread.terminate()
    await closed(thread.threadId)
    gate.open()
    // Of the store: no public read shows a message that was rejected.
    const rows = await desk.env.store.read((db) =>
      db.selectFrom('messages').select(['status', 'position']).where('id', '=', messageId).execute(),
    )
    expect(rows).toEqual([{ status: 'rejected', position: null }])
  })

  test('terminate twice is the same as once', async () => {
    const { thread } = await desk.start({ chat: [{ text: marked('Hi') }] })
    await thread.waitUntilIdle()
    await thread.terminate()
    await thread.terminate()
    await closed(thread.threadId)
    expect((await factTypes(thread)).filter((type) => type === 'thread.closed')).toHaveLength(1)
  })

  test('a tool may terminate its thread after its result', async () => {
    const { thread, chat } = await desk.start({
      chat: [{ toolCalls: [work] }],
      tools: {
        work: async (state) => (await state.terminate(), { status: 'success', result: marked('Bye') }),
      },
    })
    await closed(thread.threadId)
    expect(await toolResults(thread)).toMatchObject([{ content: marked('Bye'), tool_status: 'success' }])
    expect((await thread.snapshot()).status).toBe('terminated')
    expect(chat.requests).toHaveLength(1)
  })

  async function closed(threadId: string): Promise<void> {
    const handle = desk.env.threads.temporal.workflow.getHandle(threadId)
    // A run that has just continued as new is none of both for a moment.
    const open = ['RUNNING', 'CONTINUED_AS_NEW']
    await until('a closed workflow', async () => !open.includes((await handle.describe()).status.name))
  }

  /** The same again when Temporal, too, has closed the workflow. */
  async function afterClose<T>(threadId: string, refusals: readonly T[]): Promise<readonly T[]> {
    await closed(threadId)
    return refusals
  }
})
