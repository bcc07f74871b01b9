/** What no list of the client shows, from the tables. */
import pg from 'pg'
import type { QueryResultRow } from 'pg'

/** Messages that have no place in a transcript: their status, by id. */
export async function unplacedMessages(database: string): Promise<ReadonlyMap<string, Unplaced>> {
  const rows = await ask<{ id: string; thread_id: string; status: string }>(
    database,
    'select id, thread_id, status from messages where position is null',
  )
  return new Map(rows.map(({ id, thread_id: threadId, status }) => [id, { threadId, status }]))
}

export interface Unplaced {
  readonly threadId: string
  readonly status: string
}

/** The sequence of the last event of each thread. */
export async function lastSequences(database: string): Promise<ReadonlyMap<string, number>> {
  const rows = await ask<{ id: string; last: string }>(
    database,
    'select thread_id as id, max(sequence) as last from events group by thread_id',
  )
  return new Map(rows.map(({ id, last }) => [id, Number(last)]))
}

async function ask<Row extends QueryResultRow>(database: string, query: string): Promise<readonly Row[]> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  try {
    return (await client.query<Row>(query)).rows
  } finally {
    await client.end()
  }
}
