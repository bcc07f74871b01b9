import { expect, test } from 'vitest'

import { marked } from '../support/marker.js'
import { factsOf, transcript } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import { payload, queryRaw, signalRaw } from '../support/raw-messages.js'

const json = (value: unknown): string => JSON.stringify(value)

/** What anybody who reaches the server can send; none of it may wedge a thread (T10). */
const HOSTILE = [
  { fact: 'broken JSON', signal: 'queueMessage', input: payload('json/plain', '{"content": "cut') },
  { fact: 'an unknown encoding', signal: 'queueMessage', input: payload('binary/riddle', 'x') },
  { fact: 'no encoding', signal: 'queueMessage', input: payload(null, 'x') },
  { fact: 'no input', signal: 'queueMessage', input: null },
  { fact: 'a list', signal: 'queueMessage', input: payload('json/plain', '[]') },
  { fact: 'empty content', signal: 'queueMessage', input: payload('json/plain', json({ content: '' })) },
  {
    fact: '1.9 MB',
    signal: 'queueMessage',
    input: payload('json/plain', json({ content: 'x'.repeat(1_900_000) })),
  },
  {
    fact: 'an id of 1 MB',
    signal: 'queueMessage',
    input: payload('json/plain', json({ messageId: 'x'.repeat(1_000_000) })),
  },
  { fact: 'a name that the SDK reserves', signal: '__temporal_x', input: payload('json/plain', '1') },
  { fact: 'an unknown name', signal: 'selfDestruct', input: payload('json/plain', '1') },
  { fact: 'an unknown name with broken JSON', signal: 'selfDestruct', input: payload('json/plain', '{') },
  { fact: 'a stop that cannot be decoded', signal: 'stop', input: payload('json/plain', '{') },
  { fact: 'a report that cannot be decoded', signal: 'childReport', input: payload('json/plain', '{') },
  { fact: 'a report of nobody', signal: 'childReport', input: payload('json/plain', json({ reference: 7 })) },
]

threeRuns((desk) => {
  test.each(HOSTILE)('a signal with $fact is recorded and skipped', async ({ signal, input }) => {
    const { thread } = await desk.start({ message: null, chat: [{ text: marked('Still here') }] })
    await thread.waitUntilIdle()
    await signalRaw(desk.env.threads.temporal, { threadId: thread.threadId, signal, input })
    await thread.send(marked('Are you there?'))
    const run = await thread.waitUntilIdle()
    expect(run.reply?.content).toBe(marked('Still here'))
    expect((await transcript(thread)).map(({ role }) => role)).toEqual(['user', 'assistant'])
    const warnings = (await factsOf(thread)).filter(({ type }) => type === 'runtime.warning')
    expect(warnings).toHaveLength(1)
  })

  test('all of them in a row do not keep a thread from answering', async () => {
    const { thread } = await desk.start({ chat: () => ({ text: marked('Still here') }) })
    // A raw signal that meets a run as it continues as new is refused by the time-skipping server.
    await thread.waitUntilIdle()
    for (const { signal, input } of HOSTILE)
      await signalRaw(desk.env.threads.temporal, { threadId: thread.threadId, signal, input })
    await thread.send(marked('Are you there?'))
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle' })
    const warnings = (await factsOf(thread)).filter(({ type }) => type === 'runtime.warning')
    expect(warnings).toHaveLength(HOSTILE.length)
  })

  test('a message id that no row has is passed over', async () => {
    const { thread, chat } = await desk.start({ message: null, chat: [{ text: marked('Here') }] })
    await signalRaw(desk.env.threads.temporal, {
      threadId: thread.threadId,
      signal: 'queueMessage',
      input: payload('json/plain', json({ messageId: 'nobody-knows' })),
    })
    expect((await thread.waitUntilIdle()).status).toBe('idle')
    expect(chat.requests).toHaveLength(0)
    await thread.send(marked('Hello'))
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Here'))
  })

  test('a snapshot query takes any input', async () => {
    const { thread } = await desk.start({ message: null })
    await thread.waitUntilIdle()
    for (const input of [payload('json/plain', '{'), payload(null, 'x'), null])
      expect(
        await queryRaw(desk.env.threads.temporal, { threadId: thread.threadId, query: 'snapshot', input }),
      ).toMatchObject({
        threadId: thread.threadId,
      })
  })
})
