import { describe, expect, test } from 'vitest'
import type { ActivityDependencies } from '../../src/activities/activity.js'
import { recordClosedChild } from '../../src/activities/subagents/closed-child.js'
import { closeRow } from '../../src/client/terminate-thread.js'
import type { ThreadClose } from '../../src/protocol/end-activities.js'
import { findRequest, insertRequest } from '../../src/store/calls/requests.js'
import { stageMessage } from '../../src/store/messages/message-writes.js'
import type { Store } from '../../src/store/store.js'
import { findEffect, insertEffect } from '../../src/store/threads/effects.js'
import { insertRun } from '../../src/store/threads/runs.js'
import { findThread } from '../../src/store/threads/threads.js'
import { NOW, withDesk } from './activity-desk.js'
import { addChild, deliver, eventsOf, messagesOf, registered } from './family.js'
import { runSettle, settleInput } from './settle-desk.js'

/** As the workflow of the thread asks for its end. */
async function close(
  store: Store,
  threadId: string,
  { outcome = 'terminated', number = 1 }: { outcome?: ThreadClose['outcome']; number?: number } = {},
): Promise<void> {
  const ends = { end: null, close: { outcome, reason: outcome } }
  const desk = { dependencies: { store } as ActivityDependencies }
  await runSettle(desk, settleInput({ threadId, now: NOW, settle: number, ...ends }))
}

const typesOf = async (store: Store, id: string) => (await eventsOf(store, id)).map(({ type }) => type)

describe('a child that closes', () => {
  test.each(['completed', 'failed', 'terminated'] as const)('as %s is so in its registry', (outcome) =>
    withDesk({}, async ({ store }) => {
      await addChild(store)
      await close(store, 'c', { outcome })
      expect(await registered(store)).toMatchObject({ status: outcome, closed_at: NOW * 1000 })
    }),
  )

  test('leaves what the registry has of its end already', () =>
    withDesk({}, async ({ store }) => {
      await addChild(store, { status: 'terminated', closed_at: 5 })
      await close(store, 'c', { outcome: 'completed' })
      expect(await registered(store)).toMatchObject({ status: 'terminated', closed_at: 5 })
    }))

  test('T7 by a person, its workflow gone, is closed in its registry', () =>
    withDesk({}, async ({ store }) => {
      await addChild(store)
      const run = { thread_id: 'c', number: 1, trigger_kind: 'message', started_at: 1 }
      await store.write((tx) => insertRun(tx, run))
      await store.write((tx) => closeRow(tx, 'c', 7))
      expect(await registered(store)).toMatchObject({ status: 'terminated', closed_at: 7 })
    }))

  test('T7 before its workflow is started has yet to report that', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      await desk.store.write((tx) => closeRow(tx, 'c', 7))
      const end = { kind: 'failure', reason: 'terminated', sessionCall: null, closes: true } as const
      expect(await deliver(desk.dependencies, end)).toMatchObject({
        ...{ kind: 'failure', messageId: expect.any(String) },
      })
      expect(await registered(desk.store)).toMatchObject({ status: 'terminated', closed_at: NOW * 1000 })
    }))

  test('T7 without a report is closed by whoever finds it so', () =>
    withDesk({}, async ({ store }) => {
      await addChild(store)
      const found = { threadId: 't', reference: 'c', status: 'failed', scope: {}, now: 7 }
      await store.write((tx) => recordClosedChild(tx, found))
      expect(await registered(store)).toMatchObject({ status: 'failed', closed_at: 7 })
      expect(await typesOf(store, 't')).toEqual(['subagent.closed'])
    }))

  test('T7 and is found so after its last report keeps its status', () =>
    withDesk({}, async ({ store }) => {
      await addChild(store, { status: 'completed', closed_at: 5 })
      const found = { threadId: 't', reference: 'c', status: 'terminated', scope: {}, now: 7 }
      await store.write((tx) => recordClosedChild(tx, found))
      expect(await registered(store)).toMatchObject({ status: 'completed', closed_at: 5 })
    }))
})

describe('T8 a thread with a child that waits for variables closes', () => {
  async function defer(store: Store): Promise<void> {
    await addChild(store, { status: 'deferred' })
    const draft = { id: 'm', threadId: 'c', role: 'user', content: 'Look.', createdAt: 1 } as const
    await store.write(async (tx) => {
      await stageMessage(tx, { ...draft, sentBy: 'parent', digest: '' })
      await insertRequest(tx, { thread_id: 't', id: 'asks', kind: 'variables', requested_at: 1 })
      const effect = { id: 'e', name: 'remind', args: {}, due_at: 9, created_at: 1 }
      await insertEffect(tx, { thread_id: 'c', ...effect })
    })
  }

  test('and the child with it: rows, message, effects and request', () =>
    withDesk({}, async ({ store }) => {
      await defer(store)
      await close(store, 't')
      const time = NOW * 1000
      expect(await registered(store)).toMatchObject({ status: 'terminated', closed_at: time })
      expect(await store.read((db) => findThread(db, 'c'))).toMatchObject({
        ...{ status: 'terminated', closed_at: time, terminated_at: time, terminate_requested_at: time },
      })
      expect(await messagesOf(store, 'c')).toEqual([])
      expect(await store.read((db) => findEffect(db, 'c', 'e'))).toMatchObject({ status: 'removed' })
      expect(await store.read((db) => findRequest(db, 't', 'asks'))).toMatchObject({ status: 'closed' })
      expect((await eventsOf(store, 'c')).at(-1)).toMatchObject({
        ...{ type: 'thread.closed', payload: { outcome: 'terminated', rejected: 1 } },
      })
      expect(await typesOf(store, 't')).toContain('subagent.closed')
    }))

  test('and the child with it also when a client closes it', () =>
    withDesk({}, async ({ store }) => {
      await defer(store)
      await store.write((tx) => closeRow(tx, 't', 7))
      expect(await registered(store)).toMatchObject({ status: 'terminated', closed_at: 7 })
      expect(await store.read((db) => findThread(db, 'c'))).toMatchObject({ closed_at: 7, terminated_at: 7 })
      expect(await store.read((db) => findEffect(db, 'c', 'e'))).toMatchObject({ status: 'removed' })
      expect((await typesOf(store, 'c')).at(-1)).toBe('thread.closed')
    }))

  test('once, also when it is settled again', () =>
    withDesk({}, async ({ store }) => {
      await defer(store)
      await close(store, 't')
      await close(store, 't', { number: 2 })
      expect((await typesOf(store, 'c')).filter((type) => type === 'thread.closed')).toHaveLength(1)
    }))

  test('and a child that runs is marked, and closes itself', () =>
    withDesk({}, async ({ store }) => {
      await addChild(store)
      await close(store, 't')
      expect(await store.read((db) => findThread(db, 'c'))).toMatchObject({
        ...{ terminate_requested_at: NOW * 1000, closed_at: null },
      })
      expect(await registered(store)).toMatchObject({ status: 'running', closed_at: null })
    }))
})

test('T8 a lost thread that is terminated leaves no scheduled effect', () =>
  withDesk({}, async ({ store }) => {
    const effect = { id: 'e', name: 'remind', args: {}, due_at: 9, created_at: 1 }
    const run = { thread_id: 't', number: 1, trigger_kind: 'message', started_at: 1 }
    await store.write(async (tx) => {
      await insertEffect(tx, { thread_id: 't', ...effect })
      await insertRun(tx, run)
    })
    await store.write((tx) => closeRow(tx, 't', 7))
    expect(await store.read((db) => findEffect(db, 't', 'e'))).toMatchObject({ status: 'removed' })
    const events = (await eventsOf(store, 't')).slice(-3)
    expect(events.map(({ type }) => type)).toEqual(['effect.removed', 'run.cancelled', 'thread.closed'])
    expect(events[0]?.payload).toEqual({ effectId: 'e', name: 'remind' })
    expect(events[1]?.payload).toMatchObject({ reason: 'terminated', usage: { inputTokens: 0 } })
  }))
