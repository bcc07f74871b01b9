import type { DatabaseSync } from 'node:sqlite'
import { LIMITS } from '../../protocol/limits.js'
import { createWatchers } from '../changes.js'
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
    const threadIds = readNews()
    if (threadIds === 'unknown') watchers.tellAll()
    if (threadIds === null || threadIds === 'unknown') return
    changedAt = performance.now()
    watchers.tell(threadIds)
  }

  function readNews(): ReturnType<News['read']> {
    try {
      return news.read()
    } catch (error) {
      // Who watches reads, and meets the error where somebody can act on it; a lock is gone by the next poll.
      return isBusy(error) ? null : 'unknown'
    }
  }

  function poll(): void {
    timer = null
    look()
    // Those who were told may have been the last, or have closed the store.
    if (watchers.idle || ended) return
    const busy = performance.now() - changedAt < BUSY
    timer ??= setTimeout(poll, busy ? LIMITS.storePoll : LIMITS.storePollIdle)
  }

  function rest(): void {
    if (timer !== null) clearTimeout(timer)
    timer = null
  }

  return {
    watch(threadId, listener) {
      // Only the first: one who comes while others are told must not skip what is news to them.
      if (watchers.idle) news.skip()
      const end = watchers.add(threadId, listener)
      timer ??= setTimeout(poll, LIMITS.storePoll)
      return () => {
        end()
        if (watchers.idle) rest()
      }
    },
    committed() {
      if (!watchers.idle && !ended) look()
    },
    end() {
      ended = true
      rest()
      watchers.tellAll()
    },
  }
}

interface News {
  /** What is there is no news. */
  skip(): void
  /**
   * Threads with rows that are newer than what was seen; null when the database has not changed; `unknown` after a skip
   * that could not read.
   */
  read(): readonly string[] | 'unknown' | null
}

/** Up to where commits were seen. */
interface Seen extends Newest {
  readonly version: number
}

/** Reads what was committed, by whomever: what comes while it reads is found by this reading or by the next one. */
function createNews(reading: DatabaseSync): News {
  const version = reading.prepare('pragma data_version')
  const newest = reading.prepare(NEWEST)
  const touched = reading.prepare(TOUCHED)
  let seen: Seen | null = null
  const current = (): number => Number(version.get()?.['data_version'])
  // The version first: what is committed in between changes it again.
  const now = (): Seen => ({ version: current(), ...(newest.get() as unknown as Newest) })
  return {
    skip() {
      seen = null
      try {
        seen = now()
      } catch {
        // The first reading says that it does not know: from the beginning it would read every event there is.
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

/** Both ids grow with the commits and are never used twice, so a row that is gone again hides none. */
const NEWEST =
  'select coalesce((select max(id) from events), 0) as event, coalesce((select max(id) from deltas), 0) as delta'
const TOUCHED = 'select thread_id from events where id > ? union select thread_id from deltas where id > ?'
