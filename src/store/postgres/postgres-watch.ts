import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import { ANY_THREAD, createWatchers } from '../changes.js'
import type { Schema } from '../schema.js'
import type { Store } from '../store.js'
import { connectionConfig, decodeText, encodeText, GuardedClient } from './connection-pool.js'
import type { PostgresPlace } from './postgres-place.js'

/** After the notification of a commit, the commits of this time share one: many streams commit all the time. */
const NOTIFY_DELAY = 3

/** A notification is lost with its process or connection: a watcher is behind by this at most. */
export const WATCH_FALLBACK = 1_000

/** Watches commits and stops of this and other processes. */
interface PostgresWatch {
  readonly watch: Store['watch']
  readonly watchStops: Store['watchStops']
  /** Announces that this process committed events or deltas of these threads. */
  announceCommit(threadIds: ReadonlySet<string>): void
  /** The same for stops. */
  announceStops(threadIds: ReadonlySet<string>): void
  /** Calls all listeners of commits once more, so that waiting readers find the store closed. */
  end(): Promise<void>
}

/**
 * Each process announces the threads of its commits (NOTIFY), and one connection per store listens, from the first watch on.
 * A notification can be lost: one read per second of the watched threads finds commits without a notification. Stops have a
 * channel of their own: an activity that waits for one is not called for each piece of text that streams.
 */
export function watchPostgres(reader: Kysely<Schema>, place: PostgresPlace): PostgresWatch {
  const commits = createWatch(reader, { channel: 'everthread', findNews: createProgress(reader) })
  const stops = createWatch(reader, {
    channel: 'everthread_stops',
    findNews: (threadIds) => findStopped(reader, threadIds),
  })
  let listener: Listener | undefined
  const watching =
    ({ watch }: Watch): Store['watch'] =>
    (threadId, listen) => {
      listener ??= listenTo(place, [commits, stops])
      return watch(threadId, listen)
    }
  return {
    watch: watching(commits),
    watchStops: watching(stops),
    announceCommit: commits.announce,
    announceStops: stops.announce,
    async end() {
      await Promise.all([commits.end(), stops.end(), listener?.end()])
    },
  }
}

interface WatchOptions {
  readonly channel: string
  /** Which of these threads have news since the last call. */
  readonly findNews: (threadIds: readonly string[]) => Promise<readonly string[]>
}

/** The watchers of one channel. */
interface Watch {
  readonly channel: string
  readonly watch: Store['watch']
  readonly announce: (threadIds: ReadonlySet<string>) => void
  /** A notification of this channel. */
  receive(payload: string): void
  /** The connection listens, for the first time or again after it was lost. */
  lookAgain(): void
  end(): Promise<void>
}

function createWatch(reader: Kysely<Schema>, { channel, findNews }: WatchOptions): Watch {
  const watchers = createWatchers()
  const announcer = createAnnouncer(reader, channel)
  let timer: NodeJS.Timeout | undefined
  // Separate from the timer: a watch that is added during a look must not start a second round of looks.
  let looking = false
  let ended = false

  function lookSoon(): void {
    if (ended || watchers.idle || looking || timer !== undefined) return
    timer = setTimeout(() => void lookNow(), WATCH_FALLBACK)
  }

  async function lookNow(): Promise<void> {
    timer = undefined
    looking = true
    // The watchers read next, and meet the error where it can be handled.
    await findNews(watchers.threadIds).then(
      (threadIds) => watchers.notify(threadIds),
      () => watchers.notifyAll(),
    )
    looking = false
    lookSoon()
  }

  return {
    channel,
    watch(threadId, listen) {
      const end = watchers.add(threadId, listen)
      lookSoon()
      return () => {
        end()
        if (!watchers.idle) return
        clearTimeout(timer)
        timer = undefined
      }
    },
    announce(threadIds) {
      if (threadIds.size === 0) return
      watchers.notify(threadIds)
      announcer.announce(threadIds)
    },
    receive: announcer.fromOthers((threadIds) => watchers.notify(threadIds)),
    lookAgain: () => watchers.notifyAll(),
    async end() {
      ended = true
      clearTimeout(timer)
      watchers.notifyAll()
      await announcer.end()
    },
  }
}

/** Finds threads with new events or deltas. */
function createProgress(reader: Kysely<Schema>): WatchOptions['findNews'] {
  let seen: ReadonlyMap<string, string> = new Map()
  return async (threadIds) => {
    const now = await progressOf(reader, threadIds)
    const changed = [...now].filter(([threadId, progress]) => seen.get(threadId) !== progress)
    seen = now
    // Whoever watches all threads reads the log, which is cheaper than the progress of each.
    const any = threadIds.includes(ANY_THREAD) ? [ANY_THREAD] : []
    return [...changed.map(([threadId]) => threadId), ...any]
  }
}

/** Finds threads with a stop: it is deleted with the end of its run. */
async function findStopped(db: Kysely<Schema>, threadIds: readonly string[]): Promise<readonly string[]> {
  const { rows } = await sql<{ thread_id: string }>`
    select thread_id from stops where thread_id = any(${threadIds}::text[])`.execute(db)
  return rows.map((row) => row.thread_id)
}

/** A text for each thread that changes with every commit of events or deltas. */
async function progressOf(
  db: Kysely<Schema>,
  threadIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ id: string; progress: string }>`
    select id, concat(last_sequence, ' ', (select max(deltas.id) from deltas where thread_id = threads.id)) as progress
    from threads where id = any(${threadIds}::text[])`.execute(db)
  return new Map(rows.map(({ id, progress }) => [id, progress]))
}

/** A payload of NOTIFY holds less than 8,000 bytes, and an id at most 1,202: 200 control characters, escaped as JSON. */
const PAYLOAD_BYTES = 7_900

interface Announcer {
  /** Notifies other processes: at once, or shortly after the last notification, together with what is committed until then. */
  announce(threadIds: Iterable<string>): void
  /** Makes a handler of notifications that passes on only those of other processes. */
  fromOthers(notify: (threadIds: readonly string[]) => void): (payload: string) => void
  /** Sends the remaining notifications. */
  end(): Promise<void>
}

/** Notifies all processes of a database of threads with news. */
function createAnnouncer(db: Kysely<Schema>, channel: string): Announcer {
  const self = randomUUID()
  const waiting = new Set<string>()
  let notifying: Promise<void> | undefined
  let notifiedAt = -Infinity

  async function sendNotifications(): Promise<void> {
    const ids = [...waiting]
    waiting.clear()
    for (const payload of packPayloads(self, ids))
      await sql`select pg_notify(${channel}, ${payload})`.execute(db)
  }

  /** Ignores failures: watchers find the commits by their own reads. */
  async function notifySoon(): Promise<void> {
    while (waiting.size > 0) {
      const pause = notifiedAt + NOTIFY_DELAY - performance.now()
      if (pause > 0) await delay(pause)
      notifiedAt = performance.now()
      await sendNotifications().catch(() => undefined)
    }
    notifying = undefined
  }

  return {
    announce(threadIds) {
      for (const threadId of threadIds) waiting.add(threadId)
      notifying ??= notifySoon()
    },
    fromOthers: (notify) => (payload) => {
      const [from, ...threadIds] = parsePayload(payload)
      if (from !== self) notify(threadIds)
    },
    end: async () => notifying,
  }
}

/** Payloads are JSON, because ids may contain blanks, and characters that PostgreSQL cannot store. */
function packPayloads(self: string, ids: readonly string[]): readonly string[] {
  const full: string[] = []
  let payload = ''
  for (const id of ids) {
    const more = `,${JSON.stringify(id)}`
    if (payload === '' || Buffer.byteLength(encodeText(payload + more)) >= PAYLOAD_BYTES) {
      if (payload !== '') full.push(`${payload}]`)
      payload = `[${JSON.stringify(self)}`
    }
    payload += more
  }
  return payload === '' ? full : [...full, `${payload}]`]
}

/** Returns nothing for a payload of another program on this channel, or of another version of this one. */
function parsePayload(payload: string): readonly string[] {
  try {
    const parsed: unknown = JSON.parse(decodeText(payload))
    return Array.isArray(parsed) ? parsed.filter((one) => typeof one === 'string') : []
  } catch {
    return []
  }
}

const FIRST_PAUSE = 100
const LONGEST_PAUSE = 10_000

interface Listener {
  end(): Promise<void>
}

/** Opens a connection that receives notifications, and opens it again whenever it is lost. */
function listenTo(place: PostgresPlace, watches: readonly Watch[]): Listener {
  let client: GuardedClient | undefined
  let timer: NodeJS.Timeout | undefined
  let pause = FIRST_PAUSE
  let ended = false
  let connecting = connect()

  async function connect(): Promise<void> {
    const fresh = new GuardedClient({ ...connectionConfig(place), connectionTimeoutMillis: LONGEST_PAUSE })
    client = fresh
    fresh.on('notification', ({ channel, payload = '' }) =>
      watches.find((watch) => watch.channel === channel)?.receive(payload),
    )
    fresh.once('end', () => {
      if (client === fresh) reconnectSoon()
    })
    try {
      await fresh.connect()
      for (const { channel } of watches) await fresh.query(`listen ${channel}`)
      pause = FIRST_PAUSE
      // All watchers look for earlier commits.
      for (const watch of watches) watch.lookAgain()
    } catch {
      await fresh.end().catch(() => undefined)
      reconnectSoon()
    }
  }

  function reconnectSoon(): void {
    if (ended || timer !== undefined) return
    timer = setTimeout(() => {
      timer = undefined
      connecting = connect()
    }, pause)
    pause = Math.min(pause * 2, LONGEST_PAUSE)
  }

  return {
    async end() {
      ended = true
      clearTimeout(timer)
      await connecting
      await client?.end().catch(() => undefined)
    },
  }
}
