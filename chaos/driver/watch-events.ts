import { setTimeout as delay } from 'node:timers/promises'

import pg from 'pg'

export interface EventWatch {
  /** All events that are committed have been seen when it resolves; at once where the database is away. */
  catchUp(): Promise<void>
  stop(): Promise<void>
}

const PAUSE = 50
const CONNECTING = 1_000
const LONGEST_QUERY = 10_000
/** Identity values are given before the commit: a later one may be seen first. */
const LATE = 500

/** Tells of each thread that has a new event, from the database itself. */
export function watchEvents(database: string, onEvent: (threadId: string) => void): EventWatch {
  const seen = new Set<number>()
  const connection: { client: pg.Client | null } = { client: null }
  let last = 0
  let looks = 0
  let stopped = false

  async function look(): Promise<void> {
    connection.client ??= await connect(database)
    const { rows } = await connection.client.query<{ id: string; thread_id: string }>(
      'select id, thread_id from events where id > $1 order by id',
      [last - LATE],
    )
    for (const { id, thread_id: threadId } of rows) {
      if (seen.has(Number(id))) continue
      seen.add(Number(id))
      last = Math.max(last, Number(id))
      onEvent(threadId)
    }
  }

  async function disconnect(): Promise<void> {
    const { client } = connection
    connection.client = null
    // Of a server that is gone it may never end.
    await Promise.race([client?.end().catch(() => undefined), delay(CONNECTING, undefined, { ref: false })])
  }

  const ended = (async () => {
    while (!stopped) {
      // A database that was killed comes back.
      await look().catch(disconnect)
      looks += 1
      await delay(PAUSE)
    }
    await disconnect()
  })()
  return {
    async catchUp() {
      // The look that is under way may have begun before.
      const enough = looks + 2
      while (!stopped && looks < enough) await delay(PAUSE)
    },
    async stop() {
      stopped = true
      await ended
    },
  }
}

async function connect(database: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: database,
    connectionTimeoutMillis: CONNECTING,
    query_timeout: LONGEST_QUERY,
  })
  // Each query of it fails by itself.
  client.on('error', () => undefined)
  await client.connect()
  return client
}
