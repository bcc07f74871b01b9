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

/** What a tree of threads has used, by its budget and by the rows of its model calls. */
export interface SpentByTree {
  readonly threadId: string
  /** Tokens that requests in flight hold. */
  readonly held: number
  /** Requests to models that were charged, and those that have a row. */
  readonly charged: number
  readonly requests: number
  /** Input tokens that were charged, and those that models have reported. */
  readonly input: number
  readonly reported: number
}

export async function spentByTrees(database: string): Promise<readonly SpentByTree[]> {
  const rows = await ask<Record<keyof SpentByTree, string>>(
    database,
    `select s.thread_id as "threadId", s.state::jsonb->'spent'->>'modelCalls' as charged, s.state::jsonb->'spent'->>'inputTokens' as input,
      (s.state::jsonb->'held'->>'inputTokens')::bigint + (s.state::jsonb->'held'->>'outputTokens')::bigint as held,
      count(r.request) as requests, coalesce(sum((r.request->'usage'->>'inputTokens')::bigint), 0) as reported
    from spending s
    join threads t on t.root_thread_id = s.thread_id
    left join operations o on o.thread_id = t.id and o.kind in ('model', 'activation')
    left join lateral jsonb_array_elements(coalesce((o.detail::jsonb)->'requests', '[]'::jsonb)) as r(request) on true
    where s.owner = 'tree:' || s.thread_id
    group by s.thread_id, s.state`,
  )
  return rows.map(({ threadId, ...sums }) => {
    const of = (name: Exclude<keyof SpentByTree, 'threadId'>): number => Number(sums[name])
    return {
      threadId,
      ...{ held: of('held'), charged: of('charged'), requests: of('requests') },
      ...{ input: of('input'), reported: of('reported') },
    }
  })
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
