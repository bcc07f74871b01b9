import { ApplicationFailure, CancelledFailure } from '@temporalio/common'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { withHeartbeats } from '../../src/activities/activity.js'
import { FAILURES } from '../../src/protocol/failures.js'
import { findError } from '../../src/store/errors.js'
import { readEvents } from '../../src/store/events.js'
import { StoreError } from '../../src/store/store-error.js'
import { makeStoreId } from '../../src/store/store-location.js'
import { activityInterceptor } from '../../src/worker/activity-interceptor.js'
import { attempt, failingStore, failureOf, loggingAttempt, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'

const SECRET = 'sk-live-4711 and the whole prompt'

function run(
  desk: Pick<ActivityDesk, 'store'>,
  work: () => unknown,
  { type = 'thread.callModel', input = { level: 1, store: desk.store.id } as unknown } = {},
): Promise<unknown> {
  return attempt({ activityType: type }, [activityInterceptor(desk)]).run(
    async (_input: unknown) => work(),
    input,
  )
}

function thrown(desk: Pick<ActivityDesk, 'store'>, error: unknown) {
  return failureOf(
    run(desk, () => {
      throw error
    }),
  )
}

/** Everything that an error says, to itself and to a log. */
function wordsOf(error: Error): string {
  return [
    error.message,
    error.stack,
    String(error.cause),
    JSON.stringify(error),
    ...Object.values(error).map(String),
  ].join()
}

describe('T5 what leaves an activity', () => {
  test('AR-EC.19 an error leaves its type, a sentence, an id, and its event', () =>
    withDesk({}, async (desk) => {
      const cause = new Error(SECRET)
      const failure = await thrown(desk, new TypeError(`Cannot send ${SECRET}`, { cause }))
      expect(failure).toBeInstanceOf(ApplicationFailure)
      expect(failure).toMatchObject({ type: 'Activity.Failed', nonRetryable: false, stack: '' })
      expect(failure.cause).toBeUndefined()
      expect(wordsOf(failure)).not.toContain(SECRET)
      const id = /\(error (.+)\)/.exec(failure.message)?.[1] ?? ''
      expect(await desk.store.read((db) => findError(db, id))).toMatchObject({
        threadId: 't',
        type: 'TypeError',
        message: `Cannot send ${SECRET}`,
        stack: expect.stringContaining('interceptor.test') as unknown,
      })
      const [event] = await desk.store.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 9 }))
      expect(event).toMatchObject({
        type: 'runtime.error',
        payload: { code: 'Activity.Failed', errorId: id, activity: expect.any(String) as unknown },
      })
    }))

  test.each<readonly [string, unknown]>([
    ['a text', SECRET],
    ['nothing', undefined],
    ['an object', { message: SECRET }],
  ])('%s that was thrown leaves no words', (_what, error) =>
    withDesk({}, async (desk) => {
      const failure = await thrown(desk, error)
      expect(failure).toMatchObject({ type: 'Activity.Failed' })
      expect(wordsOf(failure)).not.toContain(SECRET)
    }),
  )

  test.each([...Object.keys(FAILURES), 'constructor', 'Users.Own'])(
    'a failure of type %s leaves no words',
    (type) =>
      withDesk({}, async (desk) => {
        const made = ApplicationFailure.create({
          type,
          message: SECRET,
          details: [SECRET],
          cause: new Error(SECRET),
        })
        const failure = await thrown(desk, made)
        expect(wordsOf(failure)).not.toContain(SECRET)
        expect(failure).toMatchObject({
          type: Object.hasOwn(FAILURES, type) ? type : 'Activity.Failed',
          stack: '',
        })
      }),
  )

  test('a cancellation stays one, without words', () =>
    withDesk({}, async (desk) => {
      const failure = await thrown(desk, new CancelledFailure(SECRET, [SECRET], new Error(SECRET)))
      expect(failure).toBeInstanceOf(CancelledFailure)
      expect(wordsOf(failure)).not.toContain(SECRET)
    }))

  test('a store that fails is named as that', () =>
    withDesk({}, async (desk) => {
      expect(await thrown(desk, new StoreError('busy', 'The database is locked.'))).toMatchObject({
        type: 'Store.Unavailable',
        nonRetryable: false,
      })
    }))

  test('a store that cannot take the error changes nothing', () =>
    withDesk({}, async (desk) => {
      const store = failingStore(desk.store, () => true)
      expect(await thrown({ store }, new Error(SECRET))).toMatchObject({ type: 'Activity.Failed' })
    }))
})

describe('what an activity answers', () => {
  test.each([
    ['at most 64 KB goes through', 'x'.repeat(65_000), true],
    ['above 64 KB is refused', 'x'.repeat(66_000), false],
    ['above 64 KB in bytes is refused', '\u{20ac}'.repeat(30_000), false],
  ])('%s', (_what, text, goes) =>
    withDesk({}, async (desk) => {
      const answer = run(desk, () => ({ text }))
      if (goes) expect(await answer).toEqual({ text })
      else expect(await failureOf(answer)).toMatchObject({ type: 'Answer.TooLarge', nonRetryable: true })
    }),
  )

  test('nothing is an answer too', () =>
    withDesk({}, async (desk) => {
      expect(await run(desk, () => undefined)).toBeUndefined()
    }))
})

describe('a store', () => {
  const OTHER = '0123456789ab'

  test('work of another store is refused before it begins', () =>
    withDesk({}, async (desk) => {
      let ran = false
      const store = failingStore(desk.store, () => false)
      const input = { level: 1, store: OTHER }
      const failure = await failureOf(run({ store }, () => (ran = true), { input }))
      expect(failure).toMatchObject({ type: 'Thread.OtherStore', nonRetryable: false, stack: '' })
      expect([ran, store.writes]).toEqual([false, 0])
    }))

  test('a refusal names the first pause of its attempt', () =>
    withDesk({}, async (desk) => {
      const refused = attempt({ activityType: 'thread.settle', attempt: 9 }, [activityInterceptor(desk)])
      const running = refused.run(async (_input: unknown) => true, { level: 1, store: OTHER })
      expect(await failureOf(running)).toMatchObject({ nextRetryDelay: 408, category: 'BENIGN' })
    }))

  test('the log of a worker names two mixed stores once', () =>
    withDesk({}, async (desk) => {
      const other = makeStoreId()
      const { environment, logged } = loggingAttempt({ activityType: 'thread.settle' }, [
        activityInterceptor(desk),
      ])
      for (let times = 0; times < 2; times += 1)
        await failureOf(environment.run(async (_input: unknown) => true, { level: 1, store: other }))
      expect(logged).toHaveLength(1)
      for (const word of [other, desk.store.id, 'EVERTHREAD_DATABASE_URL', `"everthread-${desk.store.id}"`])
        expect(logged[0]).toContain(word)
    }))

  test('an answer to work without a store names its own', () =>
    withDesk({}, async (desk) => {
      const answer = (input: unknown) => run(desk, () => ({ type: 'settled' }), { input })
      expect(await answer({ level: 1 })).toEqual({ type: 'settled', store: desk.store.id })
      expect(await answer({ level: 1, store: desk.store.id })).toEqual({ type: 'settled' })
    }))
})

describe('T11 a level', () => {
  test.each<readonly [unknown, boolean]>([
    [{ level: 1 }, true],
    [{ level: 2 }, false],
    [{}, false],
    [null, false],
    [{ level: '1' }, false],
  ])('%j is known: %s', (input, known) =>
    withDesk({}, async (desk) => {
      let ran = false
      const running = run(desk, () => (ran = true), { input })
      if (known) await running
      else
        expect(await failureOf(running)).toMatchObject({ type: 'Thread.UnknownLevel', nonRetryable: false })
      expect(ran).toBe(known)
    }),
  )
})

test("a user's own activity is left alone", () =>
  withDesk({}, async (desk) => {
    const error = new Error('mine')
    const running = run(desk, () => Promise.reject(error), { type: 'sendMail', input: undefined })
    expect(await failureOf(running)).toBe(error)
  }))

describe('heartbeats', () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
  afterEach(() => vi.useRealTimers())

  test('an activity beats after each third of its heartbeat timeout, and not before', async () => {
    const environment = attempt()
    let beats = 0
    environment.on('heartbeat', () => (beats += 1))
    await environment.run(() =>
      withHeartbeats(async () => {
        vi.advanceTimersByTime(9_999)
        expect(beats).toBe(0)
        vi.advanceTimersByTime(1)
        expect(beats).toBe(1)
        vi.advanceTimersByTime(20_000)
        expect(beats).toBe(3)
      }),
    )
    vi.advanceTimersByTime(60_000)
    expect(beats).toBe(3)
  })

  test('an activity that fails beats no more', async () => {
    const environment = attempt()
    let beats = 0
    environment.on('heartbeat', () => (beats += 1))
    await failureOf(environment.run(() => withHeartbeats(() => Promise.reject(new Error('no')))))
    vi.advanceTimersByTime(60_000)
    expect(beats).toBe(0)
  })
})
