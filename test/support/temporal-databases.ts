import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'

import pg from 'pg'

import type { TemporalDatabases } from './temporal-server-files.js'

/** Makes the two databases of a Temporal server, with the tables of the version that `programs` holds. */
export async function createTemporalDatabases(
  programs: string,
  postgres: string,
): Promise<TemporalDatabases> {
  const name = `temporal_${randomUUID().replaceAll('-', '')}`
  const databases = { default: name, visibility: `${name}_visibility` }
  await administer(
    postgres,
    Object.values(databases).map((database) => `create database ${database}`),
  )
  const tool = sqlTool(join(programs, 'temporal-sql-tool'), postgres)
  // The tables of both are made by a process each, most of whose time is the database's.
  await Promise.all([
    tool(databases.default, 'postgresql/v12/temporal'),
    tool(databases.visibility, 'postgresql/v12/visibility'),
  ])
  return databases
}

/** Removes them, whoever still uses them. */
export async function dropTemporalDatabases(postgres: string, databases: TemporalDatabases): Promise<void> {
  await administer(
    postgres,
    Object.values(databases).map((database) => `drop database if exists ${database} with (force)`),
  )
}

/** The schemas are in the tool. Its connection is told by the environment, where a password is not seen by others. */
function sqlTool(program: string, postgres: string): (database: string, schema: string) => Promise<void> {
  const { hostname, port, username, password } = new URL(postgres)
  const environment = {
    PATH: process.env['PATH'],
    SQL_PLUGIN: 'postgres12_pgx',
    SQL_HOST: hostname,
    SQL_PORT: port,
    SQL_USER: decodeURIComponent(username),
    SQL_PASSWORD: decodeURIComponent(password),
  }
  return async (database, schema) => {
    const env = { ...environment, SQL_DATABASE: database }
    await promisify(execFile)(program, ['setup-schema', '--version', '0.0'], { env })
    await promisify(execFile)(program, ['update-schema', '--schema-name', schema], { env })
  }
}

async function administer(postgres: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: postgres })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}
