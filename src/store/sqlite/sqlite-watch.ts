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
  /** Watches stops of this and other processes. */
  watchStops(threadId: string, listener: () => void): () => void
  /** Looks for commits at once, not at the next poll: this process committed events or deltas. */
  noticeCommit(): void
  /** The same for a stop. */
  noticeStop(): void
  /** Calls all listeners once more, so that waiting readers find the store closed. */
  end(): void
}

/**
 * SQLite has no notifications. One poll per store, only while there are watchers, checks whether the database has changed, which
 * reads a few bytes of shared memory. If it has, one read finds the threads with new events, deltas or stops.
 */
export function watchSqlite(reading: DatabaseSync): SqliteWatch {
  const [commits, stops] = [watchCommits(reading), watchStops(reading)]
  let timer: NodeJS.Timeout | null = null
  let ended = false

  function poll(): void {
    timer = null
    for (const kind of [commits, stops]) if (!kind.watchers.idle) kind.look()
    // The listeners may have ended the last watch, or closed the store.
    if (isIdle() || ended) return
    const busy = performance.now() - commits.changedAt() < BUSY
    timer ??= setTimeout(poll, busy ? POLL_INTERVAL : IDLE_POLL_INTERVAL)
  }

  function isIdle(): boolean {
    return commits.watchers.idle && stops.watchers.idle
  }

  function rest(): void {
    if (timer !== null) clearTimeout(timer)
    timer = null
  }

  function watch({ watchers, begin }: Watched, threadId: string, listener: () => void): () => void {
    begin(threadId)
    const end = watchers.add(threadId, listener)
    timer ??= setTimeout(poll, POLL_INTERVAL)
    return () => {
      end()
      if (isIdle()) rest()
    }
  }

  return {
    watch: (threadId, listener) => watch(commits, threadId, listener),
    watchStops: (threadId, listener) => watch(stops, threadId, listener),
    noticeCommit() {
      if (!ended && !commits.watchers.idle) commits.look()
    },
    noticeStop() {
      if (!ended) stops.notify()
    },
    end() {
      ended = true
      rest()
      commits.watchers.notifyAll()
    },
  }
}

/** What one poll looks for. */
interface Watched {
  readonly watchers: ReturnType<typeof createWatchers>
  /** Before a thread gets a watcher. */
  readonly begin: (threadId: string) => void
  /** Calls the watchers of what was written since the last look. */
  readonly look: () => void
}

function watchCommits(reading: DatabaseSync): Watched & { readonly changedAt: () => number } {
  const watchers = createWatchers()
  const news = createNews(reading)
  let changedAt = 0

  function readNews(): ReturnType<News['read']> {
    try {
      return news.read()
    } catch (error) {
      // The watchers read next, and meet the error where it can be handled. A lock is gone by the next poll.
      return isBusy(error) ? null : 'unknown'
    }
  }

  return {
    watchers,
    // Only for the first watch: a later one must not skip commits that the others have not seen.
    begin() {
      if (watchers.idle) news.skip()
    },
    look() {
      const threadIds = readNews()
      if (threadIds === 'unknown') watchers.notifyAll()
      if (threadIds === null || threadIds === 'unknown') return
      changedAt = performance.now()
      watchers.notify(threadIds)
    },
    changedAt: () => changedAt,
  }
}

function watchStops(reading: DatabaseSync): Watched & { readonly notify: () => void } {
  const watchers = createWatchers()
  const stops = createStops(reading)

  function notify(): void {
    if (watchers.idle) return
    const threadIds = stops.read()
    if (threadIds === 'unknown') watchers.notifyAll()
    else watchers.notify(threadIds)
  }

  return {
    watchers,
    // Calls it soon if the stop was there before.
    begin(threadId) {
      if (stops.isStored(threadId)) setImmediate(() => watchers.notify([threadId]))
    },
    look() {
      if (stops.mayHaveChanged()) notify()
    },
    notify,
  }
}

interface Stops {
  /** Whether another process has written since the last call. */
  mayHaveChanged(): boolean
  isStored(threadId: string): boolean
  /** The threads with stops: nearly always none, because the end of a run deletes them. */
  read(): readonly string[] | 'unknown'
}

function createStops(reading: DatabaseSync): Stops {
  const version = reading.prepare('pragma data_version')
  const stored = reading.prepare('select 1 from stops where thread_id = ?')
  const all = reading.prepare('select thread_id from stops')
  let seen: unknown
  /** Whoever is called reads next, and meets the error where it can be handled. */
  const unlessFailing = <T, F>(read: () => T, otherwise: F): T | F => {
    try {
      return read()
    } catch {
      return otherwise
    }
  }
  return {
    mayHaveChanged: () =>
      unlessFailing(() => {
        const current = version.get()?.['data_version']
        const changed = current !== seen
        seen = current
        return changed
      }, true),
    isStored: (threadId) => unlessFailing(() => stored.get(threadId) !== undefined, true),
    read: () => unlessFailing(() => all.all().map((row) => String(row['thread_id'])), 'unknown' as const),
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
