import type { DatabaseSync } from 'node:sqlite'

import { LIMITS } from '../../protocol/limits.js'
import { createWatchers } from '../watchers.js'
import { isBusy } from './sqlite-error.js'

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
  const version = reading.prepare('pragma data_version')
  const newest = reading.prepare(NEWEST)
  const touched = reading.prepare(TOUCHED)
  let seen = { version: -1, event: 0, delta: 0 }
  let timer: NodeJS.Timeout | null = null
  let ended = false

  /** What is committed while it reads is told by this look or by the next one. */
  function look(): void {
    const current = Number(version.get()?.['data_version'])
    if (current === seen.version) return
    const { event, delta } = newest.get() as unknown as Newest
    const rows = touched.all(seen.event, seen.delta) as unknown as readonly Touched[]
    seen = { version: current, event: Math.max(seen.event, event), delta: Math.max(seen.delta, delta) }
    watchers.tell(rows.map((row) => row.thread_id))
  }

  function tryToLook(): void {
    try {
      look()
    } catch (error) {
      // Who watches reads, and meets the error where somebody can act on it.
      if (!isBusy(error)) watchers.tellAll()
    }
  }

  function poll(): void {
    timer = null
    if (watchers.idle || ended) return
    tryToLook()
    timer ??= setTimeout(poll, LIMITS.storePoll)
  }

  function begin(): void {
    try {
      seen = { version: Number(version.get()?.['data_version']), ...(newest.get() as unknown as Newest) }
    } catch {
      // The first look then tells of everything, for nothing.
      seen = { version: -1, event: 0, delta: 0 }
    }
    timer = setTimeout(poll, LIMITS.storePoll)
  }

  return {
    watch(threadId, listener) {
      const end = watchers.add(threadId, listener)
      if (timer === null) begin()
      return () => {
        end()
        if (!watchers.idle || timer === null) return
        clearTimeout(timer)
        timer = null
      }
    },
    committed() {
      if (!watchers.idle) tryToLook()
    },
    end() {
      ended = true
      if (timer !== null) clearTimeout(timer)
      timer = null
      watchers.tellAll()
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
