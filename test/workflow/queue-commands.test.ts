import { expect, test } from 'vitest'

import { MessageNotFoundError, NotCancelableError } from '../../src/index.js'
import type { ThreadHandle } from '../../src/client/index.js'
import { assertEvents } from '../../src/testing/index.js'
import { createGate } from '../support/gate.js'
import { marked } from '../support/marker.js'
import { factTypes, factsOf } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import { untilAborted } from '../support/until-aborted.js'
import { until } from '../support/until.js'

const work = { name: 'work', args: { task: marked('it') } }

/** All that the log tells of the queue: the ids of each kind of change. */
async function changesOf(thread: ThreadHandle) {
  const facts = (await factsOf(thread)).flatMap((fact) =>
    fact.type === 'queue.changed' ? [fact.payload] : [],
  )
  return {
    added: facts.flatMap(({ added = [] }) => added.map(({ id }) => id)),
    taken: facts.flatMap(({ taken = [] }) => taken),
    removed: facts.flatMap(({ removed = [] }) => removed),
    promoted: facts.flatMap(({ promoted = [] }) => promoted),
    waiting: facts.at(-1)?.waiting,
  }
}

threeRuns((desk) => {
  /** A thread whose tool runs until the gate opens, or until it is aborted. */
  async function working(answers: readonly string[], gate?: ReturnType<typeof createGate>) {
    const wait = async () => (await gate?.passed, { status: 'success' as const, result: marked('ok') })
    const { thread, chat } = await desk.start({
      message: null,
      chat: [{ toolCalls: [work] }, ...answers.map((text) => ({ text: marked(text) }))],
      tools: { work: gate === undefined ? untilAborted : wait },
    })
    const { messageId: first } = await thread.send(marked('Hello'))
    await until('a running tool', async () => (await factTypes(thread)).includes('tool.started'))
    return { thread, chat, first }
  }

  test('AR-CP.9 AR-EC.11 AR-VA.5 a promoted item goes first, and the log tells each change of the queue once', async () => {
    const gate = createGate()
    const { thread, chat, first } = await working(['One', 'Two'], gate)
    const sent = []
    for (const text of ['A', 'B', 'C', 'D']) sent.push((await thread.send(marked(text))).messageId)
    const [a = '', b = '', c = '', d = ''] = sent
    await thread.promote(c)
    expect((await thread.snapshot()).queue.map(({ id }) => id)).toEqual([c, a, b, d])
    await thread.removeQueued(b)
    const { toolCallId } = await thread.queueTool('other', { task: marked('tool') })
    await thread.promote(toolCallId)
    const changes = { code: 'not_queued', delivered: true }
    await expect(thread.promote(first)).rejects.toMatchObject(changes)
    await expect(thread.promote(b)).rejects.toMatchObject({ code: 'not_queued', delivered: false })
    await expect(thread.promote('nothing')).rejects.toMatchObject({ code: 'not_queued' })
    gate.open()
    await thread.waitUntilIdle()
    const users = chat.requests.at(-1)?.messages.filter(({ role }) => role === 'user')
    expect(users?.map(({ text }) => text)).toEqual(['Hello', 'C', 'A', 'D'].map(marked))
    expect(await changesOf(thread)).toEqual({
      added: [first, a, b, c, d, toolCallId],
      taken: [first, toolCallId, c, a, d],
      removed: [b],
      promoted: [c, toolCallId],
      waiting: 0,
    })
  })

  test('AR-CP.2 a stop keeps or clears the queue, gives its reason, and says what was open', async () => {
    const { thread, chat } = await working(['Then kept', 'At the end'])
    const kept = (await thread.send(marked('Kept'))).messageId
    const [{ runId } = { runId: '' }] = (await factsOf(thread)).filter(({ type }) => type === 'run.started')
    const reason = marked('Wrong order')
    expect(await thread.stop({ runId: 'run_9' })).toEqual({ status: 'no_op' })
    expect(await thread.stop({ reason })).toEqual({ status: 'accepted', runId })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'stopped', reason: 'stopped' })
    const ended = (await factsOf(thread)).find(({ type }) => type === 'run.cancelled')
    expect(ended).toMatchObject({ runId, payload: { reason: 'stopped', cancelReason: reason } })
    expect((await thread.snapshot()).queue.map(({ id }) => id)).toEqual([kept])
    // Nothing runs, and the queue is cleared: there is nothing left that it could be parked for.
    expect(await thread.stop({ queue: 'clear' })).toEqual({ status: 'accepted' })
    await until('an empty queue', async () => (await thread.snapshot()).queue.length === 0)
    expect(await thread.message(kept)).toMatchObject({ end: { kind: 'removed' } })
    expect((await changesOf(thread)).removed).toEqual([kept])
    expect(await thread.stop()).toEqual({ status: 'no_op' })
    await thread.send(marked('Next'))
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Then kept'))
    expect(JSON.stringify(chat.requests.at(-1)?.raw.prompt)).not.toContain(marked('Kept'))
    expect(await thread.stop()).toEqual({ status: 'no_op' })
    await expect(thread.stop({ reason: 'x'.repeat(1001) })).rejects.toThrow('at most 1000 characters')
  })

  test('AR-CP.2 a stop that clears a running thread ends its run and removes messages and tools', async () => {
    const { thread } = await working(['Next'])
    const { messageId } = await thread.send({ content: marked('Never'), deliver: 'next_turn' })
    const { toolCallId } = await thread.queueTool('other', { task: marked('never') })
    expect(await thread.stop({ queue: 'clear', reason: marked('All of it') })).toMatchObject({
      status: 'accepted',
    })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'stopped', reason: 'stopped' })
    expect((await thread.snapshot()).queue).toEqual([])
    expect((await changesOf(thread)).removed).toEqual([messageId, toolCallId])
    await thread.send(marked('Again'))
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Next'))
  })

  test('PL-CX.9 PL-CX.10 a message is cancelled by its id: queued, in a run, ended, unknown', async () => {
    const { thread, first } = await working(['Queued next', 'Idle'])
    const waits = (await thread.send(marked('Waits'))).messageId
    expect(await thread.cancel(waits)).toEqual({ status: 'removed' })
    expect(await thread.message(waits)).toMatchObject({ end: { kind: 'removed' } })
    const next = (await thread.send(marked('Goes on'))).messageId
    const cancelled = await thread.cancel(first, { reason: marked('Not needed') })
    expect(cancelled).toMatchObject({ status: 'cancelled', runId: /^run_\d+$/ })
    // The thread goes on with what waits.
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reason: 'stop_on_response' })
    const facts = await factsOf(thread)
    const ends = facts.filter(({ type, runId }) => /^run\.(?!started)/.test(type) && runId !== undefined)
    expect(ends.map(({ type }) => type)).toEqual(['run.cancelled', 'run.completed'])
    expect(ends[0]?.payload).toMatchObject({ reason: 'stopped', cancelReason: marked('Not needed') })
    for (const id of [first, next, waits])
      await expect(thread.cancel(id)).rejects.toSatisfy(NotCancelableError.isInstance)
    await expect(thread.cancel(next)).rejects.toThrow('one whose run ended as completed (stop_on_response)')
    await expect(thread.cancel('nothing')).rejects.toSatisfy(MessageNotFoundError.isInstance)
    await assertEvents(thread, ['run.cancelled', 'run.started', 'run.completed'])
  })
})
