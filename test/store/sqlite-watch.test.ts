import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { anyFact } from '../support/any-fact.js'
import { appendEvents } from '../../src/store/events.js'
import { openSqlite } from '../../src/store/sqlite/sqlite-database.js'
import { watchSqlite } from '../../src/store/sqlite/sqlite-watch.js'
import type { SqliteWatch } from '../../src/store/sqlite/sqlite-watch.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { until } from '../support/until.js'

let folder: string
let path: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everthread-watch-'))
  path = join(folder, 'threads.db')
})
afterEach(async () => {
  vi.useRealTimers()
  await rm(folder, { recursive: true, force: true })
})

/** A watch on a database in which another process has written events of `a` and `b`. */
interface Watched {
  readonly watch: SqliteWatch
  /** Another process's. */
  append(threadId: string): Promise<unknown>
  /** What the watch is to meet whenever it reads. */
  fail(error: Error | null): void
  /** From where it has read which threads have news. */
  readonly readFrom: readonly unknown[][]
}

async function withWatch(work: (watched: Watched) => Promise<void>): Promise<void> {
  const database = await openSqlite(path)
  const append = (threadId: string) =>
    database.write((tx) => appendEvents(tx, { threadId, events: [anyFact('one', {})], now: 1 }))
  for (const id of ['a', 'b']) {
    await database.write((tx) => insertThread(tx, { id, agent: 'clerk', created_at: 1 }))
    await append(id)
  }
  const reading = new DatabaseSync(path, { readOnly: true })
  let failure: Error | null = null
  const readFrom: unknown[][] = []
  const failing = <T>(read: () => T): T => {
    if (failure !== null) throw failure
    return read()
  }
  const watched = {
    prepare: (sql: string) => {
      const statement = reading.prepare(sql)
      return {
        get: () => failing(() => statement.get()),
        all: (...given: number[]) => {
          readFrom.push(given)
          return failing(() => statement.all(...given))
        },
      }
    },
  } as unknown as DatabaseSync
  const watch = watchSqlite(watched)
  try {
    await work({ watch, append, fail: (error) => (failure = error), readFrom })
  } finally {
    watch.end()
    reading.close()
    await database.close()
  }
}

function listening(watch: SqliteWatch, threadId: string): { readonly times: number } {
  const told = { times: 0 }
  watch.watch(threadId, () => void (told.times += 1))
  return told
}

const LOCKED = Object.assign(new Error('database is locked'), { errcode: 5 })

test('a watch that begins at a lock reads no old event', () =>
  withWatch(async ({ watch, append, fail, readFrom }) => {
    fail(LOCKED)
    const [a, b] = [listening(watch, 'a'), listening(watch, 'b')]
    fail(null)
    await until('to be told that something may have come', () => a.times === 1 && b.times === 1)
    await append('a')
    await until('to be told of what has come', () => a.times === 2)
    expect(b.times).toBe(1)
    expect(readFrom).toEqual([[2, 0]])
  }))

test('a poll that meets a lock finds the commit with the next one', () =>
  withWatch(async ({ watch, append, fail }) => {
    const a = listening(watch, 'a')
    fail(LOCKED)
    await append('a')
    watch.noticeCommit()
    expect(a.times).toBe(0)
    fail(null)
    await until('to be told', () => a.times === 1)
  }))

test('a poll that cannot read tells all, so that they meet it', () =>
  withWatch(async ({ watch, fail }) => {
    const [a, b] = [listening(watch, 'a'), listening(watch, 'b')]
    fail(new Error('disk I/O error'))
    await until('both to be told', () => a.times > 0 && b.times > 0)
  }))

test('after its end nobody is told, and nothing read', () =>
  withWatch(async ({ watch, append, fail }) => {
    const a = listening(watch, 'a')
    watch.end()
    expect(a.times).toBe(1)
    await append('a')
    fail(new Error('database is not open'))
    watch.noticeCommit()
    expect(a.times).toBe(1)
  }))

test('no poll is left when a listener ends all watching', () =>
  withWatch(async ({ watch, append }) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let told = 0
    watch.watch('a', () => {
      told += 1
      if (told === 1) watch.end()
    })
    await append('a')
    vi.runOnlyPendingTimers()
    expect(told).toBe(2)
    expect(vi.getTimerCount()).toBe(0)
  }))

test('a transaction that does not end keeps a closing store neither open nor polled', async () => {
  const patience = 100
  const database = await openSqlite(path, patience)
  let told = 0
  database.watch('a', () => void (told += 1))
  let release = (): void => undefined
  const hanging = database.write(() => new Promise<void>((resolve) => (release = resolve)))
  hanging.catch(() => undefined)
  await expect(database.close()).rejects.toMatchObject({ code: 'busy' })
  expect(told).toBe(1)
  // Nobody has the file.
  const other = new DatabaseSync(path)
  other.exec('begin immediate; commit')
  other.close()
  release()
  await expect(hanging).rejects.toThrow()
})
