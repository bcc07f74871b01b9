import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'

import { sql } from 'kysely'
import type { Kysely } from 'kysely'

import { LIMITS } from '../../protocol/limits.js'
import type { Schema } from '../schema.js'
import { decodeText, encodeText } from './text-codec.js'

export const CHANNEL = 'everthread'
/** A payload holds less than 8,000 bytes, and one id at most 1,202: 200 control characters, written out as JSON. */
const PAYLOAD_BYTES = 7_900

export interface Announcer {
  /** Tells other processes: at once, or, soon after others were told, together with what is committed until then. */
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
