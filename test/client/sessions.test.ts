import { randomUUID } from 'node:crypto'

import { describe, expect, test } from 'vitest'

import { ConfigError, ThreadConflictError, ThreadNotFoundError } from '../../src/index.js'
import { session as sessionSchema } from '../../src/server/session-schemas.js'
import { appendMessage } from '../../src/store/messages/delivery.js'
import { insertRun, updateRun } from '../../src/store/threads/runs.js'
import { insertEffect } from '../../src/store/threads/effects.js'
import { updateThread } from '../../src/store/threads/threads.js'
import { setValue } from '../../src/store/threads/variables.js'
import { addChildRows } from '../support/child-rows.js'
import { collect, servedFixture } from './client-fixture.js'
import { askRequest } from './request-rows.js'

const fixture = servedFixture()
const DAY = 24 * 3600 * 1000
/** Two of them are more than a session shows. */
const LONG = 'x'.repeat(200_000)

const create = (given: object = {}) =>
  fixture.threads.create({ agent: 'support', id: `s-${randomUUID()}`, ...given })

/** Closes a thread whose workflow no worker runs. */
async function close(threadId: string): Promise<void> {
  const thread = fixture.threads.get(threadId)
  await thread.workflow.terminate('operator')
  await thread.terminate()
}

const eventsOf = async (threadId: string) =>
  (await collect(fixture.threads.get(threadId).events({ follow: false }))).map(({ type, payload }) => ({
    type,
    payload,
  }))

describe('one session', () => {
  test('AR-ID.2 AR-RM.2 it lists the threads of its tree, and has the metadata that says what it is for the application', async () => {
    const metadata = { kind: 'remote_channel', channel: { id: 'C-17', members: [1, 2] } }
    const workspaceUri = 'file:///tickets/17'
    const { threadId: id } = await create({ metadata, workspaceUri, title: 'A refund', tags: ['vip'] })
    await addChildRows(fixture.store, { id: `${id}-c`, parent: id, root: id })
    await addChildRows(fixture.store, { id: `${id}-d`, parent: `${id}-c`, root: id })
    const { sessions } = fixture.threads
    expect(await sessions.get(id)).toMatchObject({
      ...{ sessionId: id, state: 'idle', metadata, workspaceUri, title: 'A refund', tags: ['vip'] },
      threadCount: 3,
      threads: {
        threads: expect.arrayContaining(
          [id, `${id}-c`, `${id}-d`].map((threadId) => expect.objectContaining({ threadId, root: id })),
        ),
      },
    })
    expect(await sessions.get('nobody')).toBeNull()
    await expect(sessions.get(`${id}-c`)).rejects.toThrow(`a subagent of "${id}"`)
  })

  test('AR-SS.2 its snapshot has shell and scope, threads at work and pinned, a window with its cursor, subagents, tasks, references, and what is stale or cut', async () => {
    const { threadId: id } = await create({
      ...{ title: 'A refund', account: 'acme', userId: 'ann', workspaceUri: 'file:///tickets/17' },
      message: 'Hello',
    })
    await addChildRows(fixture.store, { id: `${id}-c`, parent: id, root: id })
    await fixture.threads.get(id).writeFile('/a.txt', 'a', 'text/plain')
    const snapshot = await fixture.threads.sessions.get(id)
    // Each field of the schema that HTTP publishes, and none besides.
    expect(sessionSchema.strict().parse(snapshot)).toEqual(snapshot)
    expect(snapshot).toMatchObject({
      ...{ sessionId: id, title: 'A refund', account: 'acme', workspaceUri: 'file:///tickets/17' },
      ...{ createdAt: expect.any(Number), lastActivityAt: expect.any(Number), closedAt: null },
      ...{ activeThreads: [id], pinnedThreads: 'unavailable', threadCount: 2 },
      ...{ messages: [{ role: 'user', content: 'Hello' }], lastSequence: expect.any(Number) },
      threads: {
        threads: expect.arrayContaining([
          expect.objectContaining({ threadId: id, parent: null, agent: 'support' }),
          expect.objectContaining({ threadId: `${id}-c`, parent: id }),
        ]),
        next: null,
      },
      ...{ tasks: 'unavailable', evidence: 'unavailable', artifacts: [{ threadId: id, path: '/a.txt' }] },
      ...{ stale: false, truncated: { threads: false, messages: false, artifacts: false } },
    })
  })

  test('AR-CP.10 AR-SN.1 a closed one is read in one bounded answer: shell, threads, newest messages, and where the rest begins', async () => {
    const { threadId: id } = await create({ userId: 'ann', account: 'acme' })
    const rows = { role: 'user', createdAt: 1, sentBy: 'client' } as const
    await fixture.store.write(async (tx) => {
      for (let n = 1; n <= 30; n += 1)
        await appendMessage(tx, {
          ...rows,
          id: `m${n}`,
          threadId: id,
          content: n === 27 || n === 29 ? LONG : `text ${n}`,
        })
    })
    for (let n = 0; n < 60; n += 1)
      await addChildRows(fixture.store, { id: `${id}-${n}`, parent: id, root: id, thread: { closed_at: 1 } })
    const thread = fixture.threads.get(id)
    await thread.writeFile('/a.txt', 'a', 'text/plain')
    await fixture.store.write((tx) =>
      insertRun(tx, { thread_id: id, number: 1, trigger_kind: 'message', started_at: 1 }),
    )
    await fixture.store.write((tx) =>
      updateRun(
        tx,
        { threadId: id, number: 1 },
        { ended_at: 2, reason: 'session_stop', outcome: 'completed', steps: 3 },
      ),
    )
    await close(id)
    const session = await fixture.threads.sessions.get(id, { usage: true })
    expect(session).toMatchObject({
      ...{ state: 'terminated', account: 'acme', userId: 'ann', threadCount: 61 },
      ...{ closedAt: expect.any(Number), createdAt: expect.any(Number), lastSequence: expect.any(Number) },
      ...{ activeThreads: [], pinnedThreads: 'unavailable', tasks: 'unavailable', evidence: 'unavailable' },
      lastRun: {
        runId: 'run_1',
        trigger: 'message',
        steps: 3,
        startedAt: 1,
        endedAt: 2,
        reason: 'session_stop',
      },
      artifacts: [{ threadId: id, path: '/a.txt' }],
      usage: { threads: 61, messages: 30, runs: 1 },
      truncated: { threads: true, messages: true, artifacts: false },
    })
    expect(session?.threads.threads).toHaveLength(50)
    const rest = await fixture.threads.page({ root: id }, { cursor: session?.threads.next ?? '' })
    expect(rest.threads).toHaveLength(11)
    // The other long one and those before it do not fit any more.
    expect(session?.messages.map(({ id: message }) => message)).toEqual(['m28', 'm29', 'm30'])
    const [first] = session?.messages ?? []
    const before = await thread.messages({ before: first?.position ?? 0, limit: 2 })
    expect(before.messages.map(({ content }) => content)).toEqual(['text 26', LONG])
    expect(JSON.stringify(session).length).toBeLessThan(1024 * 1024)
    const after = await collect(thread.events({ after: session?.lastSequence ?? 0, follow: false }))
    expect(after).toEqual([])
  })

  test('KP-05.1 it has the history, the variables without their values, the state of its agent and what is recorded of its runs', async () => {
    const { threadId: id } = await create({ env: { TOKEN: 'hush-hush-value' } })
    await fixture.store.write(async (tx) => {
      await appendMessage(tx, {
        id: 'm',
        threadId: id,
        role: 'user',
        content: 'Hello',
        createdAt: 1,
        sentBy: 'client',
      })
      await setValue(tx, { threadId: id, key: 'cart', value: { items: 2 } })
      await insertRun(tx, { thread_id: id, number: 1, trigger_kind: 'message', started_at: 5 })
    })
    const session = await fixture.threads.sessions.get(id)
    expect(session).toMatchObject({
      messages: [{ content: 'Hello' }],
      variables: [{ name: 'TOKEN', type: 'secret' }],
      values: ['cart'],
      ...{ agent: 'support', state: 'idle', threads: { threads: [{ agent: 'support', status: 'idle' }] } },
      lastRun: { runId: 'run_1', trigger: 'message', startedAt: 5, endedAt: null, reason: null },
    })
    expect(JSON.stringify(session)).not.toContain('hush-hush-value')
  })
})

describe('changes', () => {
  test('AR-EC.1 a session is an event of its root at the start, and each change of it once', async () => {
    const { threadId: id } = await create({ title: 'Old' })
    const { sessions } = fixture.threads
    expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['thread.started', 'session.created'])
    const { lastActivityAt } = (await sessions.get(id)) ?? {}
    const fields = {
      title: null,
      tags: ['a', 'b', 'a'],
      metadata: { n: 1, left: undefined },
      workspaceUri: 'db://x',
    }
    const updated = await sessions.update(id, fields)
    expect(updated).toMatchObject({ title: null, tags: ['a', 'b'], workspaceUri: 'db://x', lastActivityAt })
    expect(await sessions.update(id, fields)).toEqual(updated)
    expect((await sessions.list({ tag: 'b' })).sessions.map(({ sessionId }) => sessionId)).toEqual([id])
    await sessions.escalate(id, { to: 'ben', reason: 'Angry' })
    await sessions.escalate(id, { to: 'ben', reason: 'Angry' })
    expect(await sessions.get(id)).toMatchObject({
      state: 'escalated',
      escalation: { to: 'ben', reason: 'Angry' },
    })
    expect(await sessions.resolve(id)).toMatchObject({ state: 'idle', escalation: null })
    expect(await sessions.resolve(id)).toMatchObject({ state: 'idle' })
    await sessions.archive(id)
    expect(await sessions.archive(id)).toMatchObject({ state: 'archived' })
    expect(await sessions.unarchive(id)).toMatchObject({ state: 'idle', archivedAt: null })
    expect((await eventsOf(id)).slice(2)).toEqual([
      { type: 'session.updated', payload: { changed: ['title', 'tags', 'metadata', 'workspaceUri'] } },
      { type: 'session.updated', payload: { changed: ['escalated'], escalated: true } },
      { type: 'session.updated', payload: { changed: ['escalated'], escalated: false } },
      { type: 'session.updated', payload: { changed: ['archived'], archived: true } },
      { type: 'session.updated', payload: { changed: ['archived'], archived: false } },
    ])
  })

  test('the log of a closed thread has ended: its session is changed without an event', async () => {
    const { threadId: id } = await create()
    await close(id)
    const before = await eventsOf(id)
    expect(await fixture.threads.sessions.update(id, { title: 'Kept' })).toMatchObject({ title: 'Kept' })
    expect(await fixture.threads.sessions.archive(id)).toMatchObject({ state: 'archived' })
    await expect(fixture.threads.sessions.escalate(id)).rejects.toThrow('terminated')
    expect(await eventsOf(id)).toEqual(before)
    expect(before.at(-1)?.type).toBe('thread.closed')
  })

  test('an archived session takes nothing, and each of its threads says so', async () => {
    const thread = await create()
    const { threadId: id } = thread
    await addChildRows(fixture.store, { id: `${id}-c`, parent: id, root: id })
    await fixture.threads.sessions.archive(id)
    for (const one of [thread, fixture.threads.get(`${id}-c`)])
      for (const refused of [
        () => one.send('Hello'),
        () => one.queueTool('count', {}),
        () => one.setEnv({ A: 'b' }),
        () => one.writeFile('/a', 'a', 'text/plain'),
        () => one.stop(),
        () => one.continue(),
      ])
        await expect(refused()).rejects.toSatisfy(ThreadConflictError.isInstance)
    expect((await thread.messages()).messages).toEqual([])
    await expect(fixture.threads.sessions.escalate(id)).rejects.toThrow('unarchive it first')
    await fixture.threads.sessions.unarchive(id)
    await thread.send('Hello')
    expect(await fixture.threads.sessions.get(id)).toMatchObject({ state: 'active', activeThreads: [id] })
  })

  test('only a session of which nothing is left to do is archived', async () => {
    const { sessions } = fixture.threads
    const refuses = async (id: string, why: string) => {
      await expect(sessions.archive(id)).rejects.toThrow(why)
      expect((await sessions.get(id))?.archivedAt).toBeNull()
    }
    await refuses((await create({ message: 'Hello' })).threadId, 'that works')
    const asked = (await create()).threadId
    await askRequest(fixture.store, { thread: asked })
    await refuses(asked, 'that waits for an answer')
    const planned = (await create()).threadId
    const effect = { thread_id: planned, id: 'e', name: 'tell', args: {}, due_at: 9e15, created_at: 1 }
    await fixture.store.write((tx) => insertEffect(tx, effect))
    await refuses(planned, 'with a scheduled effect')
    const above = (await create()).threadId
    const thread = { session_state: 'active' } as const
    await addChildRows(fixture.store, { id: `${above}-c`, parent: above, root: above, thread })
    await refuses(above, 'that works')
  })

  test('wrong fields and subagents are refused, and nothing is changed', async () => {
    const { threadId: id } = await create({ title: 'Kept' })
    await addChildRows(fixture.store, { id: `${id}-c`, parent: id, root: id })
    const { sessions } = fixture.threads
    let deep: object = {}
    for (let n = 0; n < 101; n += 1) deep = { deep }
    const ring: Record<string, unknown> = {}
    ring['ring'] = ring
    for (const wrong of [
      { title: 'x'.repeat(501) },
      { title: 7 },
      { tags: Array.from({ length: 33 }, (_, n) => `t${n}`) },
      { tags: [''] },
      { metadata: { text: 'x'.repeat(16 * 1024) } },
      { metadata: ['list'] },
      { metadata: deep },
      { metadata: ring },
      { workspaceUri: 'x'.repeat(2049) },
      { workspaceUri: '\ud800' },
    ] as never[]) {
      await expect(sessions.update(id, wrong)).rejects.toSatisfy(ConfigError.isInstance)
      if (!('tags' in wrong)) await expect(create(wrong)).rejects.toSatisfy(ConfigError.isInstance)
    }
    for (const wrong of [{ to: '' }, { to: 'x'.repeat(201) }, { reason: 'x'.repeat(5000) }])
      await expect(sessions.escalate(id, wrong)).rejects.toSatisfy(ConfigError.isInstance)
    await expect(sessions.list({ state: 'asleep' })).rejects.toThrow('Expected "state" to be one of active')
    await expect(sessions.list({}, { cursor: 'x' })).rejects.toSatisfy(ConfigError.isInstance)
    for (const command of ['archive', 'unarchive', 'escalate', 'resolve', 'purge'] as const) {
      await expect(sessions[command](`${id}-c`)).rejects.toSatisfy(ThreadConflictError.isInstance)
      if (command !== 'purge')
        await expect(sessions[command]('nobody')).rejects.toSatisfy(ThreadNotFoundError.isInstance)
    }
    expect(await sessions.get(id)).toMatchObject({ title: 'Kept', metadata: null, tags: [] })
    expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['thread.started', 'session.created'])
  })
})

describe('retention', () => {
  test('KP-05.4 the history of a closed session is there on day 89 and gone after day 90, by default', async () => {
    const { threadId: id } = await create()
    await fixture.store.write((tx) =>
      appendMessage(tx, {
        id: 'm',
        threadId: id,
        role: 'user',
        content: 'Hello',
        createdAt: 1,
        sentBy: 'client',
      }),
    )
    await close(id)
    const closed = ((await fixture.threads.sessions.get(id))?.closedAt ?? 0) / 1000
    expect(await fixture.threads.sweep({ now: Math.floor(closed) + 89 * DAY })).toMatchObject({ trees: 0 })
    expect((await fixture.threads.sessions.get(id))?.messages).toMatchObject([{ content: 'Hello' }])
    const now = Math.ceil(closed) + 90 * DAY + 1
    expect(await fixture.threads.sweep({ now, dryRun: true })).toMatchObject({ trees: 1 })
    expect(await fixture.threads.sweep({ now })).toMatchObject({ trees: 1, threads: 1, failed: [] })
    expect(await fixture.threads.sessions.get(id)).toBeNull()
    await expect(fixture.threads.get(id).messages()).rejects.toSatisfy(ThreadNotFoundError.isInstance)
  })

  test('an archived session has a time of its own', async () => {
    const { threadId: id } = await create()
    await close(id)
    await fixture.threads.sessions.archive(id)
    const archived = ((await fixture.threads.sessions.get(id))?.archivedAt ?? 0) / 1000
    const [early, late] = [Math.floor(archived) + 30 * DAY - 10, Math.ceil(archived) + 30 * DAY + 10]
    expect(await fixture.threads.sweep({ now: late + 90 * DAY })).toMatchObject({ trees: 0 })
    expect(await fixture.threads.sweep({ archivedFor: '30d', now: early })).toMatchObject({ trees: 0 })
    expect(await fixture.threads.sweep({ archivedFor: '30d', now: late })).toMatchObject({ trees: 1 })
    expect(await fixture.threads.sessions.get(id)).toBeNull()
  })

  test('a sweep says what is wrong with its times', async () => {
    for (const wrong of [
      { closedFor: 'soon' },
      { inactiveFor: -1 },
      { archivedFor: NaN },
      { now: 0.5 },
    ] as never[])
      await expect(fixture.threads.sweep(wrong)).rejects.toSatisfy(ConfigError.isInstance)
  })

  test('an end that a sweep has begun is finished by the next one, and counted once', async () => {
    const { threadId: id } = await create()
    await fixture.threads.get(id).workflow.terminate('operator')
    const reason = {
      terminate_requested_at: 5,
      terminate_reason: 'inactive',
      session_state: 'abandoned',
    } as const
    await fixture.store.write((tx) => updateThread(tx, id, reason))
    expect(await fixture.threads.sessions.get(id)).toMatchObject({ state: 'abandoned', closedAt: null })
    const now = Date.now() + DAY
    expect(await fixture.threads.sweep({ inactiveFor: '1h', now })).toMatchObject({
      ended: 1,
      failed: [],
    })
    expect(await fixture.threads.sessions.get(id)).toMatchObject({
      state: 'abandoned',
      closedAt: expect.any(Number),
    })
    expect(await fixture.threads.sweep({ inactiveFor: '1h', now })).toMatchObject({ ended: 0 })
    expect((await fixture.threads.sessions.list({ state: 'abandoned' })).sessions).toMatchObject([
      { sessionId: id },
    ])
  })
})
