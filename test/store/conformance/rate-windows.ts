import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { DEFAULT_RATE_LIMITS } from '../../../src/policy/rate-limits.js'
import { stageMessage } from '../../../src/store/messages/message-writes.js'
import { enterSession, leaveSession, sweepBusySessions } from '../../../src/store/limits/busy-sessions.js'
import { openRateWindows, sweepRateWindows } from '../../../src/store/limits/rate-windows.js'
import type { RateWindow, RateWindows } from '../../../src/store/limits/rate-windows.js'
import type { Store } from '../../../src/store/store.js'
import { insertRun, updateRun } from '../../../src/store/threads/runs.js'
import { insertThread, updateThread } from '../../../src/store/threads/threads.js'
import { NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

const acme: RateWindow = { account: 'acme', kind: 'requestsPerMinute' }
const START = 1_763_767_000

/** The windows of a store whose time stands still. */
const windowsAt = (store: Store, at: number): RateWindows =>
  openRateWindows(
    { ...store, clock: sql.lit(at) as never },
    {
      read: () => ({ at, unmoved: [], isSteady: true }),
    },
  )

/** How many of these uses at once are let through. */
async function takeAtOnce(windows: RateWindows, window: RateWindow, uses: number, limit: number) {
  const taken = await Promise.all(Array.from({ length: uses }, () => windows.take(window, limit)))
  return taken.filter(({ kind }) => kind === 'allowed').length
}

export function rateWindowConformance(withStore: WithStore): void {
  test(
    'KP-11.1 100 uses of a minute pass, the 101st does not, and the next ones do as the window rolls, for each account by itself',
    withStore(async (store) => {
      expect(DEFAULT_RATE_LIMITS).toEqual({
        ...{ requestsPerMinute: 100, tokensPerMinute: 100_000, toolCallsPerMinute: 200 },
        ...{ concurrentSessions: 50, messagesPerMinute: 30 },
      })
      const limit = DEFAULT_RATE_LIMITS.requestsPerMinute
      const take = (second: number, uses: number, account = 'acme') =>
        takeAtOnce(windowsAt(store, START + second), { ...acme, account }, uses, limit)
      expect(await take(0, 60)).toBe(60)
      expect(await take(30, 41)).toBe(40)
      expect(await take(30, 101, 'globex')).toBe(100)
      expect(await windowsAt(store, START + 60).take(acme, limit)).toEqual({ kind: 'exhausted', wait: 1 })
      expect(await take(61, 70)).toBe(60)
      expect(await take(61, 1, 'globex')).toBe(0)
      expect(await take(91, 101, 'globex')).toBe(100)
      // The others of an account, with limits of their own.
      for (const kind of ['toolCallsPerMinute', 'messagesPerMinute'] as const) {
        const most = DEFAULT_RATE_LIMITS[kind]
        expect(await takeAtOnce(windowsAt(store, START), { ...acme, kind }, most + 1, most)).toBe(most)
        expect(await takeAtOnce(windowsAt(store, START + 61), { ...acme, kind }, 1, most)).toBe(1)
      }
    }),
  )

  test(
    'accounts, sessions, kinds and threads without an account are apart',
    withStore(async (store) => {
      const windows = windowsAt(store, START)
      const others: readonly RateWindow[] = [
        { ...acme, account: 'globex' },
        { ...acme, account: null },
        { ...acme, kind: 'messagesPerMinute', session: 'one' },
        { ...acme, kind: 'messagesPerMinute', session: 'two' },
        { ...acme, kind: 'tokensPerMinute' },
      ]
      for (const window of [acme, ...others]) {
        expect(await windows.take(window, 1)).toEqual({ kind: 'allowed', left: 0 })
        expect(await windows.take(window, 1)).toEqual({ kind: 'exhausted', wait: 61 })
      }
    }),
  )

  test(
    'what has been used counts however much it is, and a look counts nothing',
    withStore(async (store) => {
      const tokens: RateWindow = { account: 'acme', kind: 'tokensPerMinute' }
      const windows = windowsAt(store, START)
      for (let look = 0; look < 3; look += 1)
        expect(await windows.look(tokens, 1000)).toEqual({ kind: 'allowed', left: 1000 })
      await Promise.all([windows.add(tokens, 999), windows.add(tokens, 5000)])
      expect(await windows.look(tokens, 6000)).toEqual({ kind: 'allowed', left: 1 })
      expect(await windows.look(tokens, 5999)).toEqual({ kind: 'exhausted', wait: 61 })
    }),
  )

  test(
    'the time of the store is that of now, and its windows are swept when they have long been over',
    withStore(async (store) => {
      const windows = openRateWindows(store)
      await windows.take(acme, 1)
      const [window] = await allWindows(store)
      expect(Math.abs((window?.updated_at ?? 0) - Date.now() * 1000)).toBeLessThan(60_000_000)
      await windowsAt(store, START).take({ ...acme, account: 'old' }, 1)
      await sweepRateWindows(store)
      expect((await allWindows(store)).map(({ account }) => account)).toEqual(['acme'])
      expect((await windows.take(acme, 1)).kind).toBe('exhausted')
    }),
  )

  test(
    'an account has at most as many sessions at once as its limit, however many come at once',
    withStore(async (store) => {
      const enter = (threadId: string, account = 'acme') => enterSession(store, { account, threadId }, 3)
      const entered = await Promise.all(Array.from({ length: 8 }, (_, index) => enter(`s${index}`)))
      expect(entered.filter(Boolean)).toHaveLength(3)
      expect(await enter('s0', 'globex')).toBe(true)
      const inside = entered.findIndex(Boolean)
      expect(await enter(`s${inside}`)).toBe(true)
    }),
  )

  test(
    'a session keeps its place while one of its threads has a run or a message, and no longer',
    withStore(async (store) => {
      await family(store)
      const one = { account: 'acme', threadId: 'one' }
      const isFree = () => enterSession(store, { account: 'acme', threadId: 'two' }, 1)
      const free = async () => {
        await store.write((tx) => tx.deleteFrom('busy_sessions').execute())
        await enterSession(store, one, 1)
      }
      await free()
      expect(await isFree()).toBe(false)
      await leaveSession(store, one)
      await sweepBusySessions(store)
      expect(await isFree()).toBe(true)

      await free()
      await leaveSession(store, one)
      const run = { threadId: 'child', number: 1 }
      const begins = { thread_id: 'child', number: 1, trigger_kind: 'message', started_at: NOW }
      await store.write((tx) => insertRun(tx, begins))
      expect(await isFree()).toBe(false)
      await store.write((tx) => updateRun(tx, run, { ended_at: NOW }))
      const message = { id: 'm', threadId: 'one', role: 'user', content: 'm', createdAt: NOW } as const
      await store.write((tx) => stageMessage(tx, { ...message, sentBy: 'client', digest: 'm' }))
      await sweepBusySessions(store)
      expect(await isFree()).toBe(false)
      await store.write((tx) => updateThread(tx, 'one', { closed_at: NOW }))
      expect(await isFree()).toBe(true)
    }),
  )
}

const allWindows = (store: Store) =>
  store.read((db) => db.selectFrom('rate_windows').select(['account', 'updated_at']).execute())

async function family(store: Store): Promise<void> {
  const of = { agent: 'support', created_at: NOW, account: 'acme' }
  await store.write(async (tx) => {
    await insertThread(tx, { ...of, id: 'one' })
    await insertThread(tx, { ...of, id: 'child', root_thread_id: 'one', parent_thread_id: 'one', depth: 1 })
  })
}
