import pg from 'pg'

/** Of the server of this database, as `15.1`. */
export async function postgresVersion(database: string): Promise<string> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  try {
    const { rows } = await client.query<{ server_version: string }>('show server_version')
    return rows[0]?.server_version.split(' ')[0] ?? 'unknown'
  } finally {
    await client.end()
  }
}
