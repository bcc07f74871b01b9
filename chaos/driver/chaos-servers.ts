import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import pg from 'pg'

import { startPostgres } from '../../test/support/postgres-server.js'
import { killableDevServer, killablePostgres, killableTemporal } from './killable-server.js'
import type { KillableServer } from './killable-server.js'
import type { ServerName } from './schedule.js'

export type ServersKind = 'dev' | 'postgres'

export interface ChaosServers {
  /** Those that can be killed. */
  readonly byName: ReadonlyMap<ServerName, KillableServer>
  readonly temporal: KillableServer
  readonly postgres: KillableServer
  /** Of the store's database at a port: the server's own, or that of a proxy. */
  databaseUrl(port: number): string
  stop(): Promise<void>
  /** Ends them, but leaves the store's database where it is; answers its folder. */
  leave(): Promise<string>
}

const DATABASE = 'postgres'
/** It is waited for with nothing else done, no signal either. */
const LONGEST_COMMAND = 180_000

/** A Temporal server, with a PostgreSQL of its own or as the dev server, and a PostgreSQL with an empty store. */
export async function startChaosServers(kind: ServersKind, folder: string): Promise<ChaosServers> {
  const server = await startPostgres()
  const postgres = killablePostgres(server)
  const below = kind === 'postgres' ? await startPostgres() : null
  const temporal =
    below === null
      ? await killableDevServer(join(folder, 'temporal.db'))
      : await killableTemporal(below.url(DATABASE))
  const byName = new Map<ServerName, KillableServer>([
    ['temporal', temporal],
    ['postgres', postgres],
    ...(below === null ? [] : [['temporal_postgres', killablePostgres(below)] as const]),
  ])
  const databaseUrl = (port: number): string => {
    const url = new URL(server.url(DATABASE))
    url.port = String(port)
    return url.href
  }
  const stopTemporal = async (): Promise<void> => {
    await temporal.stop()
    await below?.stop()
  }
  setUp(`127.0.0.1:${temporal.port}`, databaseUrl(postgres.port))
  return {
    byName,
    temporal,
    postgres,
    databaseUrl,
    async stop() {
      await stopTemporal()
      await server.stop()
    },
    async leave() {
      const data = await dataFolder(databaseUrl(postgres.port))
      await stopTemporal()
      await server.pause()
      return data
    },
  }
}

async function dataFolder(database: string): Promise<string> {
  const client = new pg.Client({ connectionString: database })
  try {
    await client.connect()
    const { rows } = await client.query<{ data_directory: string }>('show data_directory')
    return rows[0]?.data_directory ?? ''
  } catch (error) {
    return `not known: ${String(error)}`
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** As everybody makes the schema. */
function setUp(address: string, database: string): void {
  const environment = { TEMPORAL_ADDRESS: address, EVERTHREAD_DATABASE_URL: database }
  runCommand(['setup'], environment)
}

/** Runs `everthread` of the package that is tried, built or not; answers what it prints. */
export function runCommand(
  line: readonly string[],
  environment: Readonly<Record<string, string>>,
): { readonly code: number; readonly output: string } {
  const door = fileURLToPath(import.meta.resolve('everthread'))
  const command = join(door, '..', 'cli', `everthread${door.slice(door.lastIndexOf('.'))}`)
  try {
    const output = execFileSync(process.execPath, [...process.execArgv, command, ...line], {
      env: { ...process.env, ...environment },
      encoding: 'utf8',
      timeout: LONGEST_COMMAND,
      killSignal: 'SIGKILL',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    return { code: 0, output }
  } catch (error) {
    const { status, stdout, stderr } = error as { status?: number; stdout?: string; stderr?: string }
    return { code: status ?? -1, output: `${stdout ?? ''}${stderr ?? ''}` }
  }
}
