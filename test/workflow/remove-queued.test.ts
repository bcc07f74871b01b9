import { expect, test } from 'vitest'

import { createGate } from '../support/gate.js'
import { marked } from '../support/marker.js'
import { factsOf, factTypes, transcript } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import { untilAborted } from '../support/until-aborted.js'
import { until } from '../support/until.js'

const work = { name: 'work', args: { task: marked('wait') } }

threeRuns((desk) => {
  test('T3 what is taken back while a run goes on is never delivered', async () => {
    const gate = createGate()
    const { thread, chat } = await desk.start({
      chat: [{ toolCalls: [work] }, { text: marked('Only one') }],
      tools: { work: async () => (await gate.passed, { status: 'success', result: marked('ok') }) },
    })
    await until('a running tool', async () => (await factTypes(thread)).includes('tool.started'))
    const { messageId } = await thread.send(marked('Not this'))
    await thread.send(marked('But this'))
    const { toolCallId } = await thread.queueTool('other', { task: marked('nor this') })
    await thread.removeQueued(messageId)
    await thread.removeQueued(messageId)
    await thread.removeQueued(toolCallId)
    expect((await thread.snapshot()).queue).toMatchObject([{ kind: 'message' }])
    gate.open()
    await thread.waitUntilIdle()
    expect(chat.requests).toHaveLength(2)
    const asked = JSON.stringify(chat.requests.map(({ raw }) => raw.prompt))
    expect(asked).toContain(marked('But this'))
    expect(asked).not.toMatch(/ot this|nor this/)
    expect(await transcript(thread)).toHaveLength(5)
  })

  test('T3 what was delivered is not taken back', async () => {
    const { thread } = await desk.start({ message: null, chat: [{ text: marked('Hello') }] })
    const { messageId } = await thread.send(marked('Hello'))
    await thread.waitUntilIdle()
    const delivered = { code: 'not_queued', itemId: messageId, delivered: true }
    await expect(thread.removeQueued(messageId)).rejects.toMatchObject(delivered)
    const unknown = { code: 'not_queued', delivered: false }
    await expect(thread.removeQueued('nothing')).rejects.toMatchObject(unknown)
    for (const handle of [thread, thread.once('key'), thread.once('key')])
      await expect(handle.removeQueued('everthread:item:9')).rejects.toMatchObject(unknown)
    await thread.terminate()
    await expect(thread.removeQueued('x')).rejects.toMatchObject({ code: 'thread_terminated' })
  })

  test('a message that a parked thread holds is taken back at once', async () => {
    const { thread, chat } = await desk.start({
      chat: [{ toolCalls: [work] }, { text: marked('Then this') }],
      tools: { work: untilAborted },
    })
    await until('a running tool', async () => (await factTypes(thread)).includes('tool.started'))
    const { messageId } = await thread.send(marked('Never mind'))
    await thread.stop()
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'stopped' })
    const { queue, lastSequence } = await thread.snapshot()
    expect(queue).toMatchObject([{ id: messageId, kind: 'message' }])
    await thread.removeQueued(messageId)
    const facts = await factsOf(thread)
    expect(facts.filter(({ sequence = 0 }) => sequence > lastSequence)).toMatchObject([
      { type: 'message.ended', messageId, payload: { end: 'removed' } },
      { type: 'queue.changed', payload: { waiting: 0, queue: [] } },
    ])
    const after = await thread.snapshot()
    expect(after).toMatchObject({ status: 'stopped', queue: [], lastSequence: lastSequence + 2 })
    await thread.send(marked('Go on'))
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Then this'))
    expect(JSON.stringify(chat.requests.at(-1)?.raw.prompt)).not.toContain('Never mind')
  })
})
