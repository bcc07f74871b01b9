import type { DatabaseSync } from 'node:sqlite'
import { createWatchers } from '../changes.js'
import { isBusy } from './sqlite-error.js'

/** Between two checks whether another process wrote to a SQLite store; one costs microseconds. */
const POLL_INTERVAL = 10

/** The same when nothing was written for a second: it costs a tenth of a percent of a core, not one or two. */
const IDLE_POLL_INTERVAL = 40

/** Milliseconds after a commit in which more are expected: streaming text is written every 10 ms. */
const BUSY = 1_000

/** Watches commits of this and other processes. */
export interface SqliteWatch {
  watch(threadId: string, listener: () => void): () => void
  /** Looks for commits at once, not at the next poll: this process committed events or deltas. */
  noticeCommit(): void
  /** Calls all listeners once more, so that waiting readers find the store closed. */
  end(): void
}

/**
 * SQLite has no notifications. One poll per store, only while there are watchers, checks whether the database has changed, which
 * reads a few bytes of shared memory. If it has, one read finds the threads with new events or deltas.
 */
export function watchSqlite(reading: DatabaseSync): SqliteWatch {
  const watchers = createWatchers()
  const news = createNews(reading)
  let changedAt = 0
  let timer: NodeJS.Timeout | null = null
  let ended = false

  function look(): void {
    const threadIds = readNews()
    if (threadIds === 'unknown') watchers.notifyAll()
    if (threadIds === null || threadIds === 'unknown') return
    changedAt = performance.now()
    watchers.notify(threadIds)
  }

  function readNews(): ReturnType<News['read']> {
    try {
      return news.read()
    } catch (error) {
      // The watchers read next, and meet the error where it can be handled. A lock is gone by the next poll.
      return isBusy(error) ? null : 'unknown'
    }
  }

  function poll(): void {
    timer = null
    look()
    // The listeners may have ended the last watch, or closed the store.
    if (watchers.idle || ended) return
    const busy = performance.now() - changedAt < BUSY
    timer ??= setTimeout(poll, busy ? POLL_INTERVAL : IDLE_POLL_INTERVAL)
  }

  function rest(): void {
    if (timer !== null) clearTimeout(timer)
    timer = null
  }

  return {
    watch(threadId, listener) {
      // Only for the first watch: a later one must not skip commits that the others have not seen.
      if (watchers.idle) news.skip()
      const end = watchers.add(threadId, listener)
      timer ??= setTimeout(poll, POLL_INTERVAL)
      return () => {
        end()
        if (watchers.idle) rest()
      }
    },
    noticeCommit() {
      if (!watchers.idle && !ended) look()
    },
    end() {
      ended = true
      rest()
      watchers.notifyAll()
    },
  }
}

interface News {
  /** Marks everything that is committed as seen. */
  skip(): void
  /**
   * Threads with rows that were not seen yet; null if the database has not changed; `unknown` after a skip that could not
   * read.
   */
  read(): readonly string[] | 'unknown' | null
}

/** The newest commit that was seen. */
interface Seen extends Newest {
  readonly version: number
}

/** Reads commits of all processes. A commit during a read is found by this read or by the next one. */
function createNews(reading: DatabaseSync): News {
  const version = reading.prepare('pragma data_version')
  const newest = reading.prepare(NEWEST)
  const touched = reading.prepare(TOUCHED)
  let seen: Seen | null = null
  const current = (): number => Number(version.get()?.['data_version'])
  // The version first: a commit in between changes it again.
  const now = (): Seen => ({ version: current(), ...(newest.get() as unknown as Newest) })
  return {
    skip() {
      seen = null
      try {
        seen = now()
      } catch {
        // The first read then returns `unknown`: without a start it would read every event of the database.
      }
    },
    read() {
      if (seen === null) {
        seen = now()
        return 'unknown'
      }
      if (current() === seen.version) return null
      const { version: next, event, delta } = now()
      const rows = touched.all(seen.event, seen.delta) as unknown as readonly Touched[]
      seen = { version: next, event: Math.max(seen.event, event), delta: Math.max(seen.delta, delta) }
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

/** Both ids grow with the commits and are never reused, so a deleted row hides no other row. */
const NEWEST =
  'select coalesce((select max(id) from events), 0) as event, coalesce((select max(id) from deltas), 0) as delta'
const TOUCHED = 'select thread_id from events where id > ? union select thread_id from deltas where id > ?'
