import { DatabaseSync } from 'node:sqlite'

import pg from 'pg'

import type { BenchServers } from '../bench-servers.js'

/** Bytes on disk by table, each with its indexes and what is unused on their pages. */
export function tableBytes({ kind, store }: BenchServers): Promise<ReadonlyMap<string, number>> {
  return kind === 'dev' ? Promise.resolve(sqliteTables(store.database)) : postgresTables(store.database)
}

function sqliteTables(path: string): ReadonlyMap<string, number> {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const rows = database
      .prepare(
        `select coalesce(tbl_name, stat.name) as name, sum(pgsize) as bytes
         from dbstat as stat left join sqlite_schema as entry on entry.name = stat.name group by 1`,
      )
      .all()
    return new Map(rows.map(({ name, bytes }) => [String(name), Number(bytes)]))
  } finally {
    database.close()
  }
}

/** With versions of rows that nobody sees any more: nothing is vacuumed for the figure. */
async function postgresTables(database: string): Promise<ReadonlyMap<string, number>> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string; bytes: string }>(
      `select relname as name, pg_total_relation_size(oid) as bytes from pg_class
       where relkind = 'r' and relnamespace = current_schema()::regnamespace`,
    )
    return new Map(rows.map(({ name, bytes }) => [name, Number(bytes)]))
  } finally {
    await client.end()
  }
}
