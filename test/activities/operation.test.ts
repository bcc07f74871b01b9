import { describe, expect, test } from 'vitest'
import {
  assertFitting,
  begin,
  commit,
  finish,
  finishForHolder,
  fittingOperations,
  previousHold,
  isStillHeld,
  keep,
  lookUp,
  postpone,
  record,
  TooManyOperations,
  unstoredFacts,
} from '../../src/activities/operation.js'
import type { Begun, Beginning } from '../../src/activities/operation.js'
import { fact } from '../../src/protocol/facts.js'
import { LIMITS } from '../../src/protocol/limits.js'
import { appendEvents } from '../../src/store/events.js'
import { findOperation } from '../../src/store/operations.js'
import type { Store } from '../../src/store/store.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { withStore } from '../support/temporary-store.js'
import { attempt, failureOf, NOW } from './activity-desk.js'

const KEY = { threadId: 't', id: 'call_1_1_0' }
const TOOL = { kind: 'tool', place: { run: 1, step: 1 }, now: NOW * 1000 } as const

function withThread(work: (store: Store) => Promise<void>): Promise<void> {
  return withStore(async (store) => {
    await store.write((tx) => insertThread(tx, { id: 't', agent: 'clerk', created_at: NOW * 1000 }))
    await work(store)
  })
}

/** What an attempt begins that Temporal scheduled so many seconds after the first one; an answer if there is one. */
function beginAt(
  store: Store,
  seconds: number,
  beginning: Partial<Beginning> = {},
): Promise<Begun | { readonly kind: 'answered'; readonly answer: unknown }> {
  return attempt({ currentAttemptScheduledTimestampMs: NOW + seconds * 1000 }).run(() =>
    store.write(async (tx) => {
      const found = await lookUp(tx, KEY)
      if (found.kind === 'answered') return found
      return begin(tx, found, { ...TOOL, onInterrupted: 'report', ...beginning })
    }),
  )
}

async function heldAt(store: Store, seconds: number, beginning: Partial<Beginning> = {}) {
  const begun = await beginAt(store, seconds, beginning)
  if (begun.kind === 'answered') throw new Error('Expected an operation that is not finished.')
  return begun.held
}

function finishing(store: Store, held: Awaited<ReturnType<typeof heldAt>>, answer: string): Promise<string> {
  return attempt().run(() =>
    commit(store, held, async (tx) => {
      await finish(tx, held, { answer })
      return answer
    }),
  )
}

describe('T4 an operation', () => {
  test('is begun by one attempt, which holds it', () =>
    withThread(async (store) => {
      const begun = await beginAt(store, 0, { messageId: 'm', detail: { plan: 'p' } })
      const held = { ...KEY, attempt: 1, state: 'started', asked: 0, messageId: 'm', detail: { plan: 'p' } }
      expect(begun).toMatchObject({ kind: 'held', held })
      expect(await store.read((db) => findOperation(db, 't', KEY.id))).toMatchObject({
        ...{ kind: 'tool', state: 'started', attempt: 1, message_id: 'm', detail: { plan: 'p' } },
        ...{ started_at: NOW * 1000, scheduled_at: NOW * 1000, finished_at: null },
      })
    }))

  test.each([
    ['started', 'report', 'interrupted'],
    ['started', 'rerun', 'held'],
    ['drained', 'report', 'held'],
    ['drained', 'rerun', 'held'],
  ] as const)('that was left %s, to %s, is %s by the next attempt', (state, onInterrupted, kind) =>
    withThread(async (store) => {
      await beginAt(store, 0, { state })
      const begun = await beginAt(store, 31, { onInterrupted })
      expect(begun).toMatchObject({ kind, held: { attempt: 2, state } })
    }),
  )

  test.each(['report', 'rerun'] as const)('to %s is not taken by a stale attempt', (onInterrupted) =>
    withThread(async (store) => {
      await beginAt(store, 31)
      expect(await failureOf(beginAt(store, 0, { onInterrupted }))).toMatchObject({
        ...{ type: 'Operation.Stale', nonRetryable: false },
      })
      expect(await store.read((db) => findOperation(db, 't', KEY.id))).toMatchObject({ attempt: 1 })
    }),
  )

  test('that is finished answers every attempt, also a stale one', () =>
    withThread(async (store) => {
      await finishing(store, await heldAt(store, 31), 'done')
      for (const seconds of [0, 62])
        expect(await beginAt(store, seconds)).toMatchObject({ kind: 'answered', answer: 'done' })
    }))

  test('that waited for a permission has not begun: no attempt interrupted it', () =>
    withThread(async (store) => {
      for (const _time of [1, 2])
        await store.write(async (tx) => {
          const found = await lookUp(tx, KEY)
          if (found.kind === 'unfinished') await postpone(tx, found, TOOL)
        })
      expect(await beginAt(store, 0)).toMatchObject({
        ...{ kind: 'held', held: { attempt: 3, asked: 2, state: 'started' } },
      })
      // The next attempt still knows how many of them only asked.
      expect(await beginAt(store, 31)).toMatchObject({ kind: 'interrupted', held: { attempt: 4, asked: 2 } })
    }))

  test('that waited is finished without a beginning where it is denied', () =>
    withThread(async (store) => {
      const waiting = await store.write(async (tx) => {
        const found = await lookUp(tx, KEY)
        if (found.kind === 'unfinished') await postpone(tx, found, TOOL)
        return findOperation(tx, 't', KEY.id)
      })
      if (waiting === null) throw new Error('Expected an operation that waits.')
      expect(await finishing(store, previousHold(waiting, NOW * 1000), 'denied')).toBe('denied')
    }))

  test('of one transaction is recorded once', () =>
    withThread(async (store) => {
      const report = { kind: 'report', place: { number: 1 }, now: NOW * 1000 } as const
      expect(await store.write((tx) => record(tx, KEY, { ...report, answer: 'one' }))).toBe(true)
      expect(await store.write((tx) => record(tx, KEY, { ...report, answer: 'two' }))).toBe(false)
      expect(await store.read((db) => lookUp(db, KEY))).toMatchObject({ kind: 'answered', answer: 'one' })
    }))

  test('has what it belongs to in its row, however it begins', () =>
    withThread(async (store) => {
      const placed = { run: 1, step: 1 }
      const row = () => store.read((db) => findOperation(db, 't', KEY.id))
      await store.write(async (tx) => {
        const found = await lookUp(tx, KEY)
        if (found.kind === 'unfinished') await postpone(tx, found, TOOL)
      })
      expect(await row()).toMatchObject({ state: 'waiting', ...placed, key: null })
      await attempt().run(() =>
        store.write(async (tx) => {
          const other = { threadId: 't', id: 'other' }
          const found = await lookUp(tx, other)
          if (found.kind === 'answered') throw new Error('Expected an operation that has not begun.')
          const { held } = await begin(tx, found, { ...TOOL, onInterrupted: 'rerun' })
          await finish(tx, held, { answer: 'done', key: 'child' })
        }),
      )
      const done = await store.read((db) => findOperation(db, 't', 'other'))
      expect(done).toMatchObject({ state: 'finished', ...placed, key: 'child' })
    }))
})

describe('T4 an attempt that lost its operation', () => {
  test('answers with what the holder committed, and its own writes are undone', () =>
    withThread(async (store) => {
      const lost = await heldAt(store, 0)
      await finishing(store, await heldAt(store, 31), 'of the holder')
      const answer = await attempt().run(() =>
        commit(store, lost, async (tx) => {
          await insertThread(tx, { id: 'undone', agent: 'clerk', created_at: 1 })
          await finish(tx, lost, { answer: 'of the lost one' })
          return 'of the lost one'
        }),
      )
      expect(answer).toBe('of the holder')
      expect(await store.read((db) => db.selectFrom('threads').select('id').execute())).toEqual([{ id: 't' }])
    }))

  test.each(['finish', 'keep'] as const)('fails at %s while the holder is at work', (end) =>
    withThread(async (store) => {
      const lost = await heldAt(store, 0)
      const holder = await heldAt(store, 31)
      const late = attempt().run(() =>
        commit(store, lost, async (tx) => {
          if (end === 'finish') await finish(tx, lost, { answer: 'lost' })
          else await keep(tx, lost, { state: 'started', detail: {} })
        }),
      )
      expect(await failureOf(late)).toMatchObject({ type: 'Operation.Lost', nonRetryable: true })
      expect(await isStillHeld(store, lost)).toBe(false)
      expect(await isStillHeld(store, holder)).toBe(true)
    }),
  )

  test('is one whose operation was finished from outside', () =>
    withThread(async (store) => {
      const held = await heldAt(store, 0)
      await store.write((tx) => finishForHolder(tx, KEY, { answer: 'given up', now: NOW * 1000 }))
      expect(await finishing(store, held, 'done')).toBe('given up')
    }))
})

test('T4 an operation that is kept is held by the same attempt, with its new detail', () =>
  withThread(async (store) => {
    const held = await heldAt(store, 0, { state: 'drained', detail: { plan: 'p' } })
    await attempt().run(() =>
      commit(store, held, (tx) => keep(tx, held, { state: 'started', detail: { plan: 'p', waits: 1 } })),
    )
    expect(await store.read((db) => findOperation(db, 't', KEY.id))).toMatchObject({
      ...{ state: 'started', attempt: 1, detail: { plan: 'p', waits: 1 } },
    })
    expect(await finishing(store, held, 'done')).toBe('done')
  }))

test('T9 an answer takes as many operations as it can hold, from the first one on', () => {
  const operations = Array.from({ length: 40 }, (_, index) => ({
    kind: 'queue_tool' as const,
    id: `call_${index}`,
    name: 'x'.repeat(LIMITS.operationBytes / 30),
  }))
  const fitting = fittingOperations(operations)
  expect(fitting).toEqual(operations.slice(0, fitting.length))
  expect(fitting.length).toBeLessThan(operations.length)
  expect(() => assertFitting(fitting)).not.toThrow()
  expect(() => assertFitting(operations.slice(0, fitting.length + 1))).toThrow(TooManyOperations)
})

test('facts of an activity without an answer are left out if the log has them from its time', () =>
  withThread(async (store) => {
    const changed = (waiting: number) => fact('queue.changed', { waiting })
    await store.write((tx) =>
      appendEvents(tx, { threadId: 't', events: [changed(1), changed(1)], now: 5_000 }),
    )
    await store.write((tx) => appendEvents(tx, { threadId: 't', events: [changed(2)], now: 6_000 }))
    const unansweredFacts = [
      { now: 5, facts: [changed(1), changed(1), changed(1)] },
      // Equal to one that was stored at another time.
      { now: 7, facts: [changed(2)] },
    ]
    const given = { threadId: 't', facts: [changed(3)], unansweredFacts }
    expect(await store.read((db) => unstoredFacts(db, given))).toEqual([changed(1), changed(2), changed(3)])
  }))
