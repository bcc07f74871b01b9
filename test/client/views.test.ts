/** Views of a thread's log as clients and HTTP read them: from the beginning, and behind any cursor. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ThreadHandle } from '../../src/client/index.js'
import { createThreadApp } from '../../src/server/index.js'
import type { Fact } from '../../src/protocol/facts.js'
import { appendEvents } from '../../src/store/events.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { VIEW_NAMES } from '../support/view-rules.js'
import { everything } from '../views/recorded.js'
import { collect, createClientFixture } from './client-fixture.js'
import type { ClientFixture } from './client-fixture.js'

const token = 'token-of-an-operator'
let fixture: ClientFixture
let thread: ThreadHandle

/** A thread with the log of one that has met everything. */
beforeEach(async () => {
  fixture = await createClientFixture()
  const events = everything().map(({ type, payload, runId, stepId, messageId, toolCallId, childId }) => {
    const scope = { runId, stepId, messageId, toolCallId, childId }
    const known = Object.entries(scope).filter(([, id]) => id !== undefined)
    return { type, payload, scope: Object.fromEntries(known) } as unknown as Fact
  })
  await fixture.store.write(async (tx) => {
    await insertThread(tx, { id: 't', agent: 'host', created_at: 1 })
    await appendEvents(tx, { threadId: 't', events, now: 5 })
  })
  thread = fixture.threads.get('t')
})
afterEach(() => fixture.close())

test.each(VIEW_NAMES)('the view %s goes on behind any cursor, with the same events', async (name) => {
  const all = await collect(thread.view(name, { follow: false }))
  expect(all.length).toBeGreaterThan(40)
  for (const at of [0, 1, 7, 20, Math.floor(all.length / 2), all.length - 1]) {
    const { cursor } = all[at] ?? { cursor: '' }
    const rest = await collect(thread.view(name, { after: cursor, follow: false }))
    // One event of the log may be several: those before the last of them come again.
    const begin = all.findIndex((viewed) => JSON.stringify(viewed) === JSON.stringify(rest[0]))
    expect(begin === -1 ? all.length : begin).toBeLessThanOrEqual(at + 1)
    expect(rest).toEqual(begin === -1 ? [] : all.slice(begin))
  }
})

test('the events of a view know their session and runtime', async () => {
  const [first] = await collect(thread.view('ar', { follow: false }))
  expect(first).toMatchObject({
    cursor: '1',
    event: { type: 'thread.started', sessionId: 't', runtimeId: fixture.store.id, sequence: 1 },
  })
})

test('over HTTP a view is a stream with the same cursors', async () => {
  const app = createThreadApp({ client: fixture.threads, tokens: [{ token }], log: () => undefined })
  const read = async (query: string) => {
    const headers = { authorization: `Bearer ${token}` }
    const response = await app.request(`/threads/t/events?follow=false&${query}`, { headers })
    return [response.status, await response.text()] as const
  }
  for (const name of VIEW_NAMES) {
    const [status, text] = await read(`view=${name}`)
    const frames = text.split('\n\n').filter((frame) => frame !== '')
    const expected = await collect(thread.view(name, { follow: false }))
    expect(status).toBe(200)
    expect(frames.map((frame) => frame.split('\n')[0])).toEqual(expected.map(({ cursor }) => `id: ${cursor}`))
    expect(frames.map((frame) => JSON.parse(frame.split('\ndata: ')[1] ?? '') as unknown)).toEqual(
      expected.map(({ event }) => event),
    )
  }
  const [, behind] = await read('view=kp&after=30')
  expect(behind).toMatch(/^id: \d+\nevent: \w+\n/)
  expect((await read('view=xx'))[0]).toBe(400)
})
