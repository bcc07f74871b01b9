import type { DatabaseSync } from 'node:sqlite'

import { LIMITS } from '../../protocol/limits.js'
import { createWatchers } from '../watchers.js'
import { isBusy } from './sqlite-error.js'

/** How long after a commit others are expected: text that streams is written each 10 ms. */
const BUSY = 1_000

/** Tells of commits by this and other processes. */
export interface SqliteWatch {
  watch(threadId: string, listener: () => void): () => void
  /** This process committed events or deltas: looks at once, not with the next poll. */
  committed(): void
  /** Everybody is told once more, so that who waits finds the store closed. */
  end(): void
}

/**
 * SQLite tells nobody of a commit. One poll per store, and only while somebody watches, asks whether the database has
 * changed, which reads a few bytes of shared memory; if so, one read says which threads have new events or deltas.
 */
export function watchSqlite(reading: DatabaseSync): SqliteWatch {
  const watchers = createWatchers()
  const news = createNews(reading)
  let changedAt = 0
  let timer: NodeJS.Timeout | null = null
  let ended = false

  function look(): void {
    try {
      const threadIds = news.read()
      if (threadIds === null) return
      changedAt = performance.now()
      watchers.tell(threadIds)
    } catch (error) {
      // Who watches reads, and meets the error where somebody can act on it.
      if (!isBusy(error)) watchers.tellAll()
    }
  }

  function poll(): void {
    timer = null
    if (watchers.idle || ended) return
    look()
    const busy = performance.now() - changedAt < BUSY
    timer ??= setTimeout(poll, busy ? LIMITS.storePoll : LIMITS.storePollIdle)
  }

  return {
    watch(threadId, listener) {
      // Only the first: one who comes while others are told must not skip what is news to them.
      if (watchers.idle) news.skip()
      const end = watchers.add(threadId, listener)
      timer ??= setTimeout(poll, LIMITS.storePoll)
      return () => {
        end()
        if (!watchers.idle || timer === null) return
        clearTimeout(timer)
        timer = null
      }
    },
    committed() {
      if (!watchers.idle) look()
    },
    end() {
      ended = true
      if (timer !== null) clearTimeout(timer)
      timer = null
      watchers.tellAll()
    },
  }
}

interface News {
  /** What is there is no news. */
  skip(): void
  /** Threads with rows that are newer than what was seen; null when the database has not changed. */
  read(): readonly string[] | null
}

/** Reads what was committed, by whomever: what comes while it reads is found by this reading or by the next one. */
function createNews(reading: DatabaseSync): News {
  const version = reading.prepare('pragma data_version')
  const newest = reading.prepare(NEWEST)
  const touched = reading.prepare(TOUCHED)
  const current = (): number => Number(version.get()?.['data_version'])
  let seen = { version: -1, event: 0, delta: 0 }
  return {
    skip() {
      try {
        seen = { version: current(), ...(newest.get() as unknown as Newest) }
      } catch {
        // The first reading then finds everything, for nothing.
        seen = { version: -1, event: 0, delta: 0 }
      }
    },
    read() {
      const now = current()
      if (now === seen.version) return null
      const { event, delta } = newest.get() as unknown as Newest
      const rows = touched.all(seen.event, seen.delta) as unknown as readonly Touched[]
      seen = { version: now, event: Math.max(seen.event, event), delta: Math.max(seen.delta, delta) }
      return rows.map((row) => row.thread_id)
    },
  }
}

interface Newest {
  readonly event: number
  readonly delta: number
}

interface Touched {
  readonly thread_id: string
}

/** Both ids grow with the commits and are never used twice, so a row that is gone again hides none. */
const NEWEST =
  'select coalesce((select max(id) from events), 0) as event, coalesce((select max(id) from deltas), 0) as delta'
const TOUCHED = 'select thread_id from events where id > ? union select thread_id from deltas where id > ?'
