import { expect, test } from 'vitest'

import { ThreadTerminatedError } from '../../src/index.js'
import type { SessionState } from '../../src/index.js'
import { updateThread } from '../../src/store/threads/threads.js'
import { createGate } from '../support/gate.js'
import { marked } from '../support/marker.js'
import { transcript } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import { until } from '../support/until.js'

const HOUR = 3600 * 1000
const guarded = { name: 'guarded', args: { task: marked('large') } }

threeRuns((desk) => {
  const sessions = () => desk.env.threads.sessions
  const stateOf = async (id: string) => (await sessions().get(id))?.state
  const reaches = (id: string, state: SessionState) => until(state, async () => (await stateOf(id)) === state)
  const lastActivity = async (id: string) => (await sessions().get(id))?.lastActivityAt ?? 0
  const endAfter = async (id: string, time: number) => {
    const now = Math.ceil((await lastActivity(id)) / 1000) + time
    await desk.env.threads.sweep({ inactiveFor: '24h', now })
    await reaches(id, 'abandoned')
  }
  /** Whether a list by state has it, and no other list has. */
  const isListed = async (id: string, state: SessionState) => {
    const states = ['active', 'idle', 'completed', 'failed', 'abandoned', 'escalated', 'archived'] as const
    const found: string[] = []
    for (const one of states) {
      const { sessions: listed } = await sessions().list({ state: one }, { limit: 500 })
      if (listed.some(({ sessionId }) => sessionId === id)) found.push(one)
    }
    expect(found).toEqual([state])
  }

  test('KP-05.2 each state is reached, and read by id and by list', async () => {
    const gate = createGate()
    const { thread } = await desk.start({
      chat: [
        { toolCalls: [{ name: 'work', args: { task: marked('count') } }] },
        { text: marked('Done') },
        { toolCalls: [{ name: 'close_case', args: { summary: marked('All well') } }] },
      ],
      tools: {
        work: async () => {
          await gate.passed
          return { status: 'success', result: marked('Counted') }
        },
      },
    })
    const { threadId: id } = thread
    await reaches(id, 'active')
    await isListed(id, 'active')
    gate.open()
    await thread.waitUntilIdle()
    await reaches(id, 'idle')
    await isListed(id, 'idle')
    await sessions().escalate(id, { to: 'ben' })
    await isListed(id, 'escalated')
    await sessions().resolve(id)
    await sessions().archive(id)
    await isListed(id, 'archived')
    await expect(thread.send(marked('More'))).rejects.toThrow('unarchive it first')
    await sessions().unarchive(id)
    await isListed(id, 'idle')

    const closing = (name: string, args: object) => [
      { toolCalls: [{ name, args }] },
      { text: marked('More') },
    ]
    const won = await desk.start({ agent: 'closer', chat: closing('close_case', { summary: marked('Won') }) })
    await won.thread.waitUntilIdle()
    await isListed(won.thread.threadId, 'completed')
    await won.thread.send(marked('One more'))
    await won.thread.waitUntilIdle()
    await isListed(won.thread.threadId, 'idle')
    const lost = await desk.start({ agent: 'closer', chat: closing('give_up', { reason: marked('Lost') }) })
    await lost.thread.waitUntilIdle()
    await isListed(lost.thread.threadId, 'failed')

    const asks = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [guarded] }, { text: marked('Done') }],
    })
    expect((await asks.thread.waitUntilIdle()).status).toBe('waiting_permission')
    await reaches(asks.thread.threadId, 'idle')
    await isListed(asks.thread.threadId, 'idle')

    await endAfter(asks.thread.threadId, 24 * HOUR)
    await isListed(asks.thread.threadId, 'abandoned')
    // What came to an end by itself stays so.
    expect(await stateOf(lost.thread.threadId)).toBe('failed')
  })

  test('KP-05.3 after 24 hours without activity a session is abandoned, and one that was used at 23 hours is not', async () => {
    const { thread: left } = await desk.start({ chat: [{ text: marked('Hi') }] })
    const { thread: used } = await desk.start({ chat: [{ text: marked('Hi') }, { text: marked('Again') }] })
    for (const thread of [left, used]) await thread.waitUntilIdle()
    const last = await lastActivity(left.threadId)
    const sweep = (hours: number) =>
      desk.env.threads.sweep({ inactiveFor: '24h', now: Math.ceil(last / 1000) + hours * HOUR })
    await sweep(23)
    expect([await stateOf(left.threadId), await stateOf(used.threadId)]).toEqual(['idle', 'idle'])
    await used.send(marked('Still there?'))
    await used.waitUntilIdle()
    // The message came 23 hours later.
    const at = last + 23 * HOUR * 1000
    await desk.env.store.write((tx) => updateThread(tx, used.threadId, { last_activity_at: at }))
    await sweep(24)
    await reaches(left.threadId, 'abandoned')
    await until('the end', async () => (await left.snapshot()).status === 'terminated')
    await expect(left.send(marked('Hello?'))).rejects.toSatisfy(ThreadTerminatedError.isInstance)
    expect(await stateOf(used.threadId)).toBe('idle')
    expect((await transcript(used)).at(-1)?.content).toBe(marked('Again'))
  })
})
