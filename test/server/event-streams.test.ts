import { expect, test } from 'vitest'
import { fact } from '../../src/protocol/facts.js'
import { appendEvents } from '../../src/store/events.js'
import { insertThread, updateThread } from '../../src/store/threads/threads.js'
import { ACME, codeOf, GLOBEX, OPERATOR, serverFixture } from './server-fixture.js'

const server = serverFixture()
const { call, raw, fixture } = server

interface Frame {
  readonly id: string
  readonly event: string
  readonly data: { readonly threadId: string; readonly payload: Readonly<Record<string, unknown>> }
}

async function append(threadId: string, ...names: readonly string[]): Promise<void> {
  const events = names.map((name) => fact('custom', { name, data: null }))
  await fixture.store.write((tx) => appendEvents(tx, { threadId, events, now: 1 }))
}

/** A thread with a subagent, both without a worker. */
async function family(account = 'acme'): Promise<{ readonly root: string; readonly child: string }> {
  const root = await server.thread(account)
  const child = `${root} child`
  await fixture.store.write((tx) =>
    insertThread(tx, {
      id: child,
      agent: 'x',
      account,
      created_at: 1,
      root_thread_id: root,
      parent_thread_id: root,
    }),
  )
  return { root, child }
}

async function close(threadId: string): Promise<void> {
  await fixture.store.write(async (tx) => {
    const closed = fact('thread.closed', { outcome: 'completed', reason: 'stop_on_response', rejected: 0 })
    await appendEvents(tx, { threadId, events: [closed], now: 1 })
    await updateThread(tx, threadId, { status: 'completed', closed_at: 1 })
  })
}

async function read(path: string, headers = {}, token = OPERATOR): Promise<readonly Frame[]> {
  const text = await (await raw(path, { headers, token })).text()
  return text
    .split('\n\n')
    .filter((part) => part.startsWith('id:'))
    .map((part) => {
      const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(part)?.[1] ?? ''
      return { id: field('id'), event: field('event'), data: JSON.parse(field('data')) as Frame['data'] }
    })
}

test('KP-13.4 the events of a session come by the id of its root, in one order with one cursor', async () => {
  const { root, child } = await family()
  await append(child, 'one')
  await append(root, 'two')
  await append(child, 'three')
  const path = `/threads/${root}/events?tree=true&follow=false`
  const frames = await read(path, {}, ACME)
  expect(frames.map(({ data, event }) => [data.threadId, event])).toEqual([
    [root, 'thread.started'],
    [root, 'session.created'],
    [child, 'custom'],
    [root, 'custom'],
    [child, 'custom'],
  ])
  const behind = await read(path, { 'last-event-id': frames[1]?.id })
  expect(behind).toEqual(frames.slice(2))
  expect(await read(`${path}&after=${frames[2]?.id}`)).toEqual(frames.slice(3))
})

test('a tree of another account is none, and its cursor is refused', async () => {
  const [own, theirs] = [await family('acme'), await family('globex')]
  const path = (root: string) => `/threads/${root}/events?tree=true&follow=false`
  const [frame] = await read(path(theirs.root), {}, GLOBEX)
  expect(codeOf(await call(path(theirs.root), { token: ACME }))).toEqual([404, 'thread_not_found'])
  const foreign = await call(path(own.root), { token: ACME, headers: { 'last-event-id': frame?.id ?? '' } })
  expect([foreign.status, foreign.body.error.message]).toEqual([
    400,
    'Expected "after" to be the cursor of an event of this tree, or 0, got one of another tree.',
  ])
  expect(codeOf(await call(path(own.child), { token: ACME }))).toEqual([400, 'bad_request'])
})

test('a closed tree whose end was seen is 204, and one with an open subagent is not', async () => {
  const { root, child } = await family()
  await close(root)
  const path = `/threads/${root}/events?tree=true`
  const open = await raw(path)
  expect(open.status).toBe(200)
  await open.body?.cancel()
  await close(child)
  const frames = await read(path)
  expect(frames.at(-1)).toMatchObject({ event: 'thread.closed', data: { threadId: child } })
  expect((await raw(path, { headers: { 'last-event-id': frames.at(-1)?.id ?? '' } })).status).toBe(204)
})

test('AR-CC.13 AR-CP.19 AR-EC.18 who comes back gets the snapshot first, then each event behind its cursor', async () => {
  const { root } = await family()
  await append(root, 'one', 'two')
  const path = `/threads/${root}/events?snapshot=true&follow=false`
  const frames = await read(path, { 'last-event-id': '3' })
  expect(frames.map(({ id, event }) => [id, event])).toEqual([
    ['3', 'snapshot.updated'],
    ['4', 'custom'],
  ])
  expect(frames[0]?.data.payload).toMatchObject({
    mode: 'replay',
    snapshot: { threadId: root, lastSequence: 4 },
  })
})

test('AR-ES.12 AR-EC.18 a cursor that leads nowhere is repaired where a snapshot was asked for, and else refused', async () => {
  const { root } = await family()
  const path = `/threads/${root}/events?follow=false`
  for (const cursor of ['999', 'damaged']) {
    const frames = await read(`${path}&snapshot=true`, { 'last-event-id': cursor })
    expect(frames.map(({ id, event }) => [id, event])).toEqual([['2', 'snapshot.updated']])
    expect(frames[0]?.data.payload['mode']).toBe('repair')
  }
  const tree = await read(`${path}&snapshot=true&tree=true`, { 'last-event-id': 'damaged' })
  expect(tree[0]?.data.payload['mode']).toBe('repair')
  expect(codeOf(await call(path, { headers: { 'last-event-id': 'damaged' } }))).toEqual([400, 'bad_request'])
})

test('a snapshot keeps no browser coming back to a closed thread', async () => {
  const { root } = await family()
  await close(root)
  const path = `/threads/${root}/events?snapshot=true`
  const frames = await read(path)
  expect(frames.map(({ event }) => event)).toEqual(['snapshot.updated'])
  expect((await raw(path, { headers: { 'last-event-id': frames[0]?.id ?? '' } })).status).toBe(204)
  expect(await read(path, { 'last-event-id': '2' })).toHaveLength(2)
})
