import { randomUUID } from 'node:crypto'

import { sql } from 'kysely'
import type { Kysely } from 'kysely'

import { LIMITS } from '../../protocol/limits.js'
import type { Schema } from '../schema.js'

export const CHANNEL = 'everthread'
/** A payload holds less than 8,000 bytes; ids have at most 200 characters, and mostly ASCII ones. */
const IDS_AT_ONCE = 9

export interface Announcer {
  /** Tells other processes soon, together with what is committed until then. */
  announce(threadIds: Iterable<string>): void
  /** Of what is heard, what other processes said. */
  others(tell: (threadIds: readonly string[]) => void): (payload: string) => void
  /** Says what is left. */
  end(): Promise<void>
}

/** Says to all processes of a database which threads have new events or deltas. */
export function createAnnouncer(db: Kysely<Schema>): Announcer {
  const self = randomUUID()
  const waiting = new Set<string>()
  let saying: Promise<void> | undefined

  async function say(): Promise<void> {
    const ids = [...waiting]
    waiting.clear()
    for (let first = 0; first < ids.length; first += IDS_AT_ONCE) {
      const payload = [self, ...ids.slice(first, first + IDS_AT_ONCE)].join(' ')
      await sql`select pg_notify(${CHANNEL}, ${payload})`.execute(db)
    }
  }

  /** What cannot be said is found by those who watch. */
  async function saySoon(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, LIMITS.notifyDelay))
    while (waiting.size > 0) await say().catch(() => undefined)
    saying = undefined
  }

  return {
    announce(threadIds) {
      for (const threadId of threadIds) waiting.add(threadId)
      saying ??= saySoon()
    },
    others: (tell) => (payload) => {
      const [from, ...threadIds] = payload.split(' ')
      if (from !== self) tell(threadIds)
    },
    end: async () => saying,
  }
}
