import { expect, test } from 'vitest'
import { insertRequest } from '../../../src/store/calls/requests.js'
import { insertToolCalls } from '../../../src/store/calls/tool-calls.js'
import { removeQueuedItem } from '../../../src/store/messages/queue.js'
import { stageMessage } from '../../../src/store/messages/message-writes.js'
import type { Store } from '../../../src/store/store.js'
import { insertEffect } from '../../../src/store/threads/effects.js'
import { insertChild } from '../../../src/store/threads/children.js'
import { isInactive } from '../../../src/store/threads/retention.js'
import { insertRun, updateRun } from '../../../src/store/threads/runs.js'
import { closeThread } from '../../../src/store/threads/thread-closing.js'
import { listSessions } from '../../../src/store/threads/sessions.js'
import { findThread, insertThread, updateThread } from '../../../src/store/threads/threads.js'
import type { NewThread, ThreadCursor } from '../../../src/store/threads/threads.js'
import { NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

/** The state of a session, which depends on all of its threads. */
export function sessionStateConformance(withStore: WithStore): void {
  test(
    'a session works as long as a thread of it does, and waits with the thread that asks a person',
    withStore(async (store) => {
      await root(store, 's')
      expect(await stateOf(store, 's')).toBe('idle')
      await child(store, 's', { id: 'c', session_state: 'active' }, { blocking: false })
      expect(await stateOf(store, 's')).toBe('active')
      await store.write((tx) => insertRequest(tx, { ...REQUEST, thread_id: 'c' }))
      expect(await stateOf(store, 's')).toBe('idle')
      // The root does something else.
      await own(store, 's', 'active')
      expect(await stateOf(store, 's')).toBe('active')
      await openCall(store, 's')
      expect(await stateOf(store, 's')).toBe('active')
      await store.write((tx) => tx.updateTable('children').set({ blocking: 1 }).execute())
      expect(await stateOf(store, 's')).toBe('idle')
    }),
  )

  test(
    'a subagent that waits for variables works not, and its values are no question to a working parent',
    withStore(async (store) => {
      await root(store, 's')
      await child(store, 's', { id: 'c', session_state: 'active' }, { status: 'deferred' })
      expect(await stateOf(store, 's')).toBe('idle')
      await store.write((tx) => insertRequest(tx, { ...REQUEST, thread_id: 's', kind: 'variables' }))
      await own(store, 's', 'active')
      expect(await stateOf(store, 's')).toBe('active')
    }),
  )

  test(
    'what a person says of a session counts before what its threads do, and its end before that',
    withStore(async (store) => {
      await root(store, 's')
      await own(store, 's', 'active')
      const escalation = { to: 'ann', reason: null, at: NOW }
      await store.write((tx) => updateThread(tx, 's', { escalation }))
      expect(await stateOf(store, 's')).toBe('escalated')
      await close(store, 's')
      expect(await stateOf(store, 's')).toBe('completed')
      await store.write((tx) => updateThread(tx, 's', { archived_at: NOW }))
      expect(await stateOf(store, 's')).toBe('archived')
    }),
  )

  test(
    'a message wakes a thread at rest, and one that is taken back leaves it as it was',
    withStore(async (store) => {
      await root(store, 's')
      await store.write((tx) =>
        insertRun(tx, { thread_id: 's', number: 1, trigger_kind: 'message', started_at: 1 }),
      )
      const ended = { ended_at: 2, reason: 'model_failed', outcome: 'failed' } as const
      await store.write((tx) => updateRun(tx, { threadId: 's', number: 1 }, ended))
      await own(store, 's', 'failed')
      // Within the second in which the activity does not move.
      await message(store, 's', 'm')
      expect(await stateOf(store, 's')).toBe('active')
      await store.write((tx) => removeQueuedItem(tx, { threadId: 's', id: 'm', now: NOW }))
      expect(await stateOf(store, 's')).toBe('failed')
      await message(store, 's', 'report', 'child')
      expect(await stateOf(store, 's')).toBe('failed')
    }),
  )

  test(
    'a list by state has each session of the state once, in order, over all pages',
    withStore(async (store) => {
      for (let n = 0; n < 12; n += 1) {
        const id = `s${String(n).padStart(2, '0')}`
        await root(store, id, { created_at: NOW + Math.floor(n / 2) })
        // Every third works by itself, every fourth by a subagent; of both the first is asked something.
        if (n % 3 === 0) await own(store, id, 'active')
        if (n % 4 === 0) await child(store, id, { id: `c${n}`, session_state: 'active' })
      }
      await store.write((tx) => insertRequest(tx, { ...REQUEST, thread_id: 's03' }))
      await store.write((tx) => insertRequest(tx, { ...REQUEST, thread_id: 'c4' }))
      const expected = (wanted: (n: number) => boolean) =>
        Array.from({ length: 12 }, (_, n) => n)
          .filter(wanted)
          .map((n) => `s${String(n).padStart(2, '0')}`)
          .toReversed()
      const isActive = (n: number) => (n % 3 === 0 && n !== 3) || (n % 4 === 0 && n !== 4)
      for (const limit of [1, 2, 5, 50]) {
        expect(await all(store, 'active', limit)).toEqual(expected(isActive))
        expect(await all(store, 'idle', limit)).toEqual(expected((n) => !isActive(n)))
        expect(await all(store, undefined, limit)).toEqual(expected(() => true))
      }
    }),
  )

  test(
    'a session is inactive only if nothing of it runs, waits, is scheduled or ends by itself',
    withStore(async (store) => {
      const inactive = (now = NOW + 10) =>
        store.read((db) => isInactive(db, { sessionId: 's', before: NOW + 5, now }))
      await root(store, 's')
      expect(await inactive()).toBe(true)
      await store.write((tx) => insertRequest(tx, { ...REQUEST, thread_id: 's', expires_at: NOW + 11 }))
      expect([await inactive(), await inactive(NOW + 11)]).toEqual([false, true])
      await child(store, 's', { id: 'c', last_activity_at: NOW + 6 })
      expect(await inactive(NOW + 11)).toBe(false)
      await store.write((tx) => updateThread(tx, 'c', { last_activity_at: NOW, session_state: 'active' }))
      expect(await inactive(NOW + 11)).toBe(false)
      await own(store, 'c', 'idle')
      await own(store, 's', 'completed')
      expect(await inactive(NOW + 11)).toBe(true)
      const effect = { thread_id: 'c', id: 'e', name: 'remind', args: {}, created_at: 1, due_at: 2 }
      await store.write((tx) => insertEffect(tx, effect))
      expect(await inactive(NOW + 11)).toBe(false)
      await store.write((tx) => tx.updateTable('effects').set({ status: 'done' }).execute())
      await message(store, 'c', 'm', 'child')
      expect(await inactive(NOW + 11)).toBe(false)
    }),
  )
}

const REQUEST = { id: 'r', kind: 'approval', requested_at: NOW } as const

type Own = NonNullable<NewThread['session_state']>

function root(store: Store, id: string, given: Partial<NewThread> = {}): Promise<unknown> {
  return store.write((tx) => insertThread(tx, { id, agent: 'a', created_at: NOW, ...given }))
}

function own(store: Store, id: string, state: Own): Promise<unknown> {
  return store.write((tx) => updateThread(tx, id, { session_state: state }))
}

async function child(
  store: Store,
  parent: string,
  thread: Partial<NewThread> & { readonly id: string },
  entry: Partial<Parameters<typeof insertChild>[1]> = {},
): Promise<void> {
  const { id } = thread
  await root(store, id, { ...thread, parent_thread_id: parent, root_thread_id: parent })
  await store.write((tx) =>
    insertChild(tx, {
      ...{ parent_thread_id: parent, reference: id, call_id: 'call_1_1_0', agent: 'a', name: 'a' },
      ...{ description: '', resumable: false, blocking: false, created_at: NOW, status: 'running' },
      ...entry,
    }),
  )
}

async function openCall(store: Store, threadId: string): Promise<void> {
  const place = { run: 1, step: 1, call_index: 0, side: 'a' } as const
  await store.write((tx) =>
    insertToolCalls(tx, [
      {
        ...{ thread_id: threadId, id: 'call_1_1_0', message_id: 'm', provider_call_id: 'p' },
        ...{ ...place, name: 'a', arguments: '{}' },
      },
    ]),
  )
}

async function message(
  store: Store,
  threadId: string,
  id: string,
  sentBy: 'client' | 'child' = 'client',
): Promise<void> {
  const draft = { id, threadId, role: 'user', content: 'x', createdAt: NOW, sentBy, digest: '' } as const
  expect(await store.write((tx) => stageMessage(tx, draft))).toBe('staged')
}

function close(store: Store, threadId: string): Promise<boolean> {
  const closing = { threadId, outcome: 'completed', reason: 'session_stop', now: NOW } as const
  return store.write((tx) => closeThread(tx, closing))
}

async function stateOf(store: Store, id: string): Promise<string | undefined> {
  const { sessions } = await store.read((db) => listSessions(db, { filter: {}, after: null, limit: 50 }))
  expect(await store.read((db) => findThread(db, id))).not.toBeNull()
  return sessions.find(({ root: { id: found } }) => found === id)?.state
}

async function all(store: Store, state: string | undefined, limit: number): Promise<readonly string[]> {
  const found: string[] = []
  const filter = state === undefined ? {} : { state }
  let after: ThreadCursor | null = null
  do {
    const place: ThreadCursor | null = after
    const page: Awaited<ReturnType<typeof listSessions>> = await store.read((db) =>
      listSessions(db, { filter, after: place, limit }),
    )
    found.push(...page.sessions.map(({ root: { id } }) => id))
    after = page.next
  } while (after !== null)
  return found
}
