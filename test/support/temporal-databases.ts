import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'

import pg from 'pg'

/** Of each service: all of them together stay below the 300 connections of a test's PostgreSQL. */
const CONNECTIONS = { default: 20, visibility: 5 } as const

/** Where a Temporal server keeps its data: what its configuration says of each of its two stores. */
export interface TemporalDatabases {
  readonly datastores: { readonly default: unknown; readonly visibility: unknown }
  /** Removes them, whoever still uses them. */
  drop(): Promise<void>
}

/** Makes the two databases of a Temporal server in a PostgreSQL, with the tables of the version that `programs` holds. */
export async function createPostgresDatabases(
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
  return {
    datastores: {
      default: postgresDatastore(postgres, databases.default, CONNECTIONS.default),
      visibility: postgresDatastore(postgres, databases.visibility, CONNECTIONS.visibility),
    },
    drop: () =>
      administer(
        postgres,
        Object.values(databases).map((database) => `drop database if exists ${database} with (force)`),
      ),
  }
}

function postgresDatastore(postgres: string, databaseName: string, connections: number): unknown {
  const { host, username, password } = new URL(postgres)
  return {
    sql: {
      pluginName: 'postgres12_pgx',
      databaseName,
      connectAddr: host,
      connectProtocol: 'tcp',
      user: decodeURIComponent(username),
      password: decodeURIComponent(password),
      maxConns: connections,
      maxIdleConns: connections,
      maxConnLifetime: '1h',
    },
  }
}

/** One SQLite file in this folder, which the server makes; both stores are in it, as in a dev server. */
export function sqliteDatabases(folder: string): TemporalDatabases {
  const datastore = {
    sql: {
      pluginName: 'sqlite',
      databaseName: join(folder, 'temporal.db'),
      connectAddr: 'localhost',
      connectProtocol: 'tcp',
      connectAttributes: { cache: 'private', setup: 'true', journal_mode: 'wal', synchronous: '1' },
      maxConns: 1,
      maxIdleConns: 1,
      maxConnLifetime: '1h',
    },
  }
  return { datastores: { default: datastore, visibility: datastore }, drop: async () => undefined }
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
