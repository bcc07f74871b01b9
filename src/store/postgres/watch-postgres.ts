import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import { LIMITS } from '../../protocol/limits.js'
import { createWatchers } from '../changes.js'
import type { Schema } from '../schema.js'
import type { Store } from '../store.js'
import { connectionConfig } from './pool.js'
import type { PostgresPlace } from './postgres-place.js'
import { decodeText, encodeText, HeardClient } from './shared-client.js'

/** Tells of commits by this and other processes. */
interface PostgresWatch {
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

const CHANNEL = 'everthread'
/** A payload holds less than 8,000 bytes, and one id at most 1,202: 200 control characters, written out as JSON. */
const PAYLOAD_BYTES = 7_900

interface Announcer {
  /** Tells other processes: at once, or, soon after others were told, together with what is committed until then. */
  announce(threadIds: Iterable<string>): void
  /** Of what is heard, what other processes said. */
  others(tell: (threadIds: readonly string[]) => void): (payload: string) => void
  /** Says what is left. */
  end(): Promise<void>
}

/** Says to all processes of a database which threads have new events or deltas. */
function createAnnouncer(db: Kysely<Schema>): Announcer {
  const self = randomUUID()
  const waiting = new Set<string>()
  let saying: Promise<void> | undefined
  let said = -Infinity

  async function say(): Promise<void> {
    const ids = [...waiting]
    waiting.clear()
    for (const payload of payloads(self, ids)) await sql`select pg_notify(${CHANNEL}, ${payload})`.execute(db)
  }

  /** What cannot be said is found by those who watch. */
  async function saySoon(): Promise<void> {
    while (waiting.size > 0) {
      const pause = said + LIMITS.notifyDelay - performance.now()
      if (pause > 0) await delay(pause)
      said = performance.now()
      await say().catch(() => undefined)
    }
    saying = undefined
  }

  return {
    announce(threadIds) {
      for (const threadId of threadIds) waiting.add(threadId)
      saying ??= saySoon()
    },
    others: (tell) => (payload) => {
      const [from, ...threadIds] = heard(payload)
      if (from !== self) tell(threadIds)
    },
    end: async () => saying,
  }
}

/** As JSON: ids may hold blanks, and characters that PostgreSQL does not keep. */
function payloads(self: string, ids: readonly string[]): readonly string[] {
  const said: string[] = []
  let payload = ''
  for (const id of ids) {
    const more = `,${JSON.stringify(id)}`
    if (payload === '' || Buffer.byteLength(encodeText(payload + more)) >= PAYLOAD_BYTES) {
      if (payload !== '') said.push(`${payload}]`)
      payload = `[${JSON.stringify(self)}`
    }
    payload += more
  }
  return payload === '' ? said : [...said, `${payload}]`]
}

/** Nothing of what is not ours: of another program on this channel, or of another version of this one. */
function heard(payload: string): readonly string[] {
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

interface Listening {
  readonly heard: (payload: string) => void
  /** It listens from now on, for the first time or again after its connection was lost. */
  readonly began: () => void
}

/** One connection that hears what processes say to each other, made anew whenever it is lost. */
function listenTo(place: PostgresPlace, { heard, began }: Listening): Listener {
  let client: HeardClient | undefined
  let timer: NodeJS.Timeout | undefined
  let pause = FIRST_PAUSE
  let ended = false
  let connecting = connect()

  async function connect(): Promise<void> {
    const fresh = new HeardClient({ ...connectionConfig(place), connectionTimeoutMillis: LONGEST_PAUSE })
    client = fresh
    fresh.on('notification', ({ payload = '' }) => heard(payload))
    fresh.once('end', () => {
      if (client === fresh) again()
    })
    try {
      await fresh.connect()
      await fresh.query(`listen ${CHANNEL}`)
      pause = FIRST_PAUSE
      began()
    } catch {
      await fresh.end().catch(() => undefined)
      again()
    }
  }

  function again(): void {
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
