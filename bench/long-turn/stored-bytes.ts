import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

import pg from 'pg'

import type { BenchServers } from '../bench-servers.js'

/** What is on disk, in bytes. */
export interface StoredBytes {
  /** Our database: rows, indexes and what is unused on their pages. */
  readonly database: number
  readonly blobs: number
  /** Temporal's databases; nothing is said of the dev server's. */
  readonly temporal: number | undefined
}

export async function storedBytes({ kind, store }: BenchServers): Promise<StoredBytes> {
  const blobs = await folderBytes(store.blobs)
  if (kind === 'dev') return { database: sqliteBytes(store.database), blobs, temporal: undefined }
  return { ...(await postgresBytes(store.database)), blobs }
}

/** Pages in use: the file itself grows when its log is written back. */
function sqliteBytes(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true })
  const valueOf = (pragma: string): number =>
    Number(Object.values(database.prepare(`pragma ${pragma}`).get() ?? {})[0])
  try {
    return (valueOf('page_count') - valueOf('freelist_count')) * valueOf('page_size')
  } finally {
    database.close()
  }
}

/** With versions of rows that nobody sees any more: nothing is vacuumed for the figure. */
async function postgresBytes(
  database: string,
): Promise<{ readonly database: number; readonly temporal: number }> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  try {
    const { rows } = await client.query<{ ours: string; temporal: string }>(
      `select pg_database_size(current_database()) as ours, sum(pg_database_size(datname)) as temporal
       from pg_database where datname like 'temporal\\_%'`,
    )
    return { database: Number(rows[0]?.ours), temporal: Number(rows[0]?.temporal) }
  } finally {
    await client.end()
  }
}

async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = entries.filter((entry) => entry.isFile())
  const sizes = await Promise.all(files.map(({ parentPath, name }) => stat(join(parentPath, name))))
  return sizes.reduce((sum, { size }) => sum + size, 0)
}
