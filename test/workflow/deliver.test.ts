import { expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import { ThreadBusyError } from '../../src/index.js'
import { createGate } from '../support/gate.js'
import { marked } from '../support/marker.js'
import { factTypes, factsOf, transcript } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import { untilAborted } from '../support/until-aborted.js'
import { until } from '../support/until.js'

const work = { name: 'work', args: { task: marked('it') } }

/** The user's messages of each run that has ended, in order, and how it ended. */
async function runsOf(thread: ThreadHandle) {
  const facts = await factsOf(thread)
  const ends = facts.filter(({ type }) => /^run\.(completed|failed|cancelled)$/.test(type))
  return ends.map(({ type, runId, payload }) => ({
    end: `${type} ${'reason' in payload ? String(payload.reason) : ''}`,
    users: facts.flatMap((fact) =>
      fact.type === 'message.created' && fact.runId === runId && fact.payload.role === 'user'
        ? [fact.payload.message?.content]
        : [],
    ),
  }))
}

threeRuns((desk) => {
  test('KP-07.1 three quick messages for the next turn are three runs in order, and one for the next step joins its run', async () => {
    const gate = createGate()
    const { thread } = await desk.start({
      chat: [{ toolCalls: [work] }, ...[1, 2, 3, 4].map((answer) => ({ text: marked(`Answer ${answer}`) }))],
      tools: { work: async () => (await gate.passed, { status: 'success', result: marked('ok') }) },
    })
    await until('a running tool', async () => (await factTypes(thread)).includes('tool.started'))
    await thread.send(marked('Joins'))
    for (const turn of ['One', 'Two', 'Three'])
      await thread.send({ content: marked(turn), deliver: 'next_turn' })
    // Behind a message for the next turn what is sent keeps its place, and waits too (T3).
    await thread.send(marked('With three'))
    gate.open()
    await thread.waitUntilIdle()
    const completed = 'run.completed stop_on_response'
    expect(await runsOf(thread)).toEqual([
      { end: completed, users: [marked('Hello'), marked('Joins')] },
      { end: completed, users: [marked('One')] },
      { end: completed, users: [marked('Two')] },
      { end: completed, users: [marked('Three'), marked('With three')] },
    ])
  })

  test('KP-07.2 a message that preempts ends the run at once, and the next request has both', async () => {
    const { thread, chat } = await desk.start({
      chat: (request) =>
        request.messages.length === 1 ? new Promise(() => undefined) : { text: marked('For both') },
    })
    await until('a request', () => chat.requests.length === 1)
    await thread.send(marked('Waits'))
    await thread.send({ content: marked('Now this'), deliver: 'preempt' })
    const run = await thread.waitUntilIdle()
    expect(run).toMatchObject({ status: 'idle', reason: 'stop_on_response' })
    expect(await runsOf(thread)).toEqual([
      { end: 'run.cancelled preempted', users: [marked('Hello')] },
      { end: 'run.completed stop_on_response', users: [marked('Now this'), marked('Waits')] },
    ])
    const users = chat.requests[1]?.messages.filter(({ role }) => role === 'user')
    expect(users?.map(({ text }) => text)).toEqual([marked('Hello'), marked('Now this'), marked('Waits')])
  })

  test('KP-07.2 messages that preempt keep their order, and begin a run where none is under way', async () => {
    const { thread } = await desk.start({
      chat: ({ messages }) => {
        const said = new Set(messages.map(({ text }) => text))
        if (said.has(marked('At rest'))) return { text: marked('Idle') }
        if (said.has(marked('Second'))) return { text: marked('Then this') }
        return said.has(marked('First')) ? new Promise(() => undefined) : { toolCalls: [work] }
      },
      tools: { work: untilAborted },
    })
    await until('a running tool', async () => (await factTypes(thread)).includes('tool.started'))
    await Promise.all([thread.stop(), thread.send({ content: marked('First'), deliver: 'preempt' })])
    await thread.send({ content: marked('Second'), deliver: 'preempt' })
    await thread.waitUntilIdle()
    const users = (await transcript(thread)).filter(({ role }) => role === 'user')
    expect(users.map(({ content }) => content)).toEqual([marked('Hello'), marked('First'), marked('Second')])
    const facts = await factsOf(thread)
    // The second one may come after the run of the first has begun.
    expect([1, 2]).toContain(facts.filter(({ type }) => type === 'run.cancelled').length)
    await thread.send({ content: marked('At rest'), deliver: 'preempt' })
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Idle'))
  })

  test('AR-CC.5 a message that a busy thread is to reject leaves nothing', async () => {
    const gate = createGate()
    const { thread } = await desk.start({
      chat: [{ toolCalls: [work] }, { text: marked('Done') }, { text: marked('Taken') }],
      tools: { work: async () => (await gate.passed, { status: 'success', result: marked('ok') }) },
    })
    await until('a running tool', async () => (await factTypes(thread)).includes('tool.started'))
    const message = { id: 'only-idle', content: marked('Only if idle'), deliver: 'reject' } as const
    await expect(thread.send(message)).rejects.toSatisfy(ThreadBusyError.isInstance)
    expect(await thread.message(message.id)).toBeNull()
    gate.open()
    await thread.waitUntilIdle()
    await thread.send(message)
    // The same message again is no other one.
    await thread.send(message)
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Taken'))
  })
})
