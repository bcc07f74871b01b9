import { sql } from 'kysely'
import type { Kysely } from 'kysely'

import { LIMITS } from '../../protocol/limits.js'
import type { Schema } from '../schema.js'
import type { Store } from '../store.js'
import { createWatchers } from '../watchers.js'
import { createAnnouncer } from './announcer.js'
import { listenTo } from './listener.js'
import type { Listener } from './listener.js'
import type { PostgresPlace } from './postgres-place.js'

/** Tells of commits by this and other processes. */
export interface PostgresWatch {
  readonly watch: Store['watch']
  /** This process committed events or deltas of these threads. */
  committed(threadIds: ReadonlySet<string>): void
  /** Everybody is told once more, so that who waits finds the store closed. */
  end(): Promise<void>
}

/**
 * Each process says which threads it has committed to, and one connection per store listens, from the first watch on. A
 * notification can be lost; one read per second of the threads that are watched finds what nobody told of.
 */
export function watchPostgres(reader: Kysely<Schema>, place: PostgresPlace): PostgresWatch {
  const watchers = createWatchers()
  const announcer = createAnnouncer(reader)
  let listener: Listener | undefined
  let seen: ReadonlyMap<string, string> = new Map()
  let timer: NodeJS.Timeout | undefined
  // Apart from the timer: who comes while a look is under way must not begin a second round of looks.
  let looking = false
  let ended = false

  async function look(): Promise<void> {
    const now = await progressOf(reader, watchers.threadIds)
    const changed = [...now].filter(([threadId, progress]) => seen.get(threadId) !== progress)
    seen = now
    watchers.tell(changed.map(([threadId]) => threadId))
  }

  function lookSoon(): void {
    if (ended || watchers.idle || looking || timer !== undefined) return
    timer = setTimeout(() => void lookAgain(), LIMITS.watchFallback)
  }

  async function lookAgain(): Promise<void> {
    timer = undefined
    looking = true
    // Who watches reads too, and meets the error where somebody can act on it.
    await look().catch(() => watchers.tellAll())
    looking = false
    lookSoon()
  }

  return {
    watch(threadId, listen) {
      const end = watchers.add(threadId, listen)
      // What was committed before it listened is told by its beginning.
      listener ??= listenTo(place, {
        heard: announcer.others((threadIds) => watchers.tell(threadIds)),
        began: () => watchers.tellAll(),
      })
      lookSoon()
      return () => {
        end()
        if (!watchers.idle) return
        clearTimeout(timer)
        timer = undefined
      }
    },
    committed(threadIds) {
      if (threadIds.size === 0) return
      watchers.tell(threadIds)
      announcer.announce(threadIds)
    },
    async end() {
      ended = true
      clearTimeout(timer)
      watchers.tellAll()
      await Promise.all([announcer.end(), listener?.end()])
    },
  }
}

/** How far each thread is: another text than before after every commit of events or deltas. */
async function progressOf(
  db: Kysely<Schema>,
  threadIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ id: string; progress: string }>`
    select id, concat(last_sequence, ' ', (select max(deltas.id) from deltas where thread_id = threads.id)) as progress
    from threads where id = any(${threadIds}::text[])`.execute(db)
  return new Map(rows.map(({ id, progress }) => [id, progress]))
}
