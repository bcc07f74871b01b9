import pg from 'pg'

/** Messages that have no place in a transcript, which no list of the client shows: their status, by id. */
export async function unplacedMessages(database: string): Promise<ReadonlyMap<string, Unplaced>> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  try {
    const { rows } = await client.query<{ id: string; thread_id: string; status: string }>(
      'select id, thread_id, status from messages where position is null',
    )
    return new Map(rows.map(({ id, thread_id: threadId, status }) => [id, { threadId, status }]))
  } finally {
    await client.end()
  }
}

export interface Unplaced {
  readonly threadId: string
  readonly status: string
}
