import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { freePort } from '../test/support/free-port.js'
import { startPostgres } from '../test/support/postgres-server.js'
import { startDevServer } from '../test/support/servers.js'
import { startTemporalServer } from '../test/support/temporal-server.js'
import { setUpStore } from './set-up-store.js'

/** A dev server and our store on SQLite, or a Temporal server and our store on one PostgreSQL. */
export const SERVERS = ['dev', 'postgres'] as const
export type ServerKind = (typeof SERVERS)[number]

export interface BenchServers {
  readonly kind: ServerKind
  readonly address: string
  /** Of the Temporal server. */
  readonly pid: number
  /** Where the dev server's counters are read, in Prometheus's text format; the other one keeps none. */
  readonly metrics: string | undefined
  /** A database and a blob folder of their own. */
  readonly store: { readonly database: string; readonly blobs: string }
}

/** As a database is run that must not lose what it has told. */
export const DURABLE_POSTGRES = ['fsync=on', 'full_page_writes=on'] as const

/** For both loops of a pair, whoever measures one. */
const DYNAMIC_CONFIG = {
  'system.enableActivityEagerExecution': process.env['EVERTHREAD_BENCH_EAGER'] === '1',
}

/** Runs `work` with tuned servers and an empty store, installs what is missing, and removes all of it. */
export async function withServers<T>(
  kind: ServerKind,
  work: (servers: BenchServers) => Promise<T>,
): Promise<T> {
  installServers()
  const folder = await mkdtemp(join(tmpdir(), 'everthread-bench-'))
  try {
    return await (kind === 'dev' ? withDevServer(folder, work) : withPostgres(folder, work))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function withDevServer<T>(folder: string, work: (servers: BenchServers) => Promise<T>): Promise<T> {
  // Kept in a file, as `up` does: a server in memory is quicker than any that keeps what it is told.
  const metricsPort = await freePort()
  const server = await startDevServer({
    metricsPort,
    dbFilename: join(folder, 'temporal.db'),
    dynamicConfig: DYNAMIC_CONFIG,
  })
  try {
    const store = { database: join(folder, 'threads.db'), blobs: join(folder, 'blobs') }
    const metrics = `http://127.0.0.1:${metricsPort}/metrics`
    return await work({ kind: 'dev', address: server.address, pid: server.pid, metrics, store })
  } finally {
    await server.stop()
  }
}

async function withPostgres<T>(folder: string, work: (servers: BenchServers) => Promise<T>): Promise<T> {
  const postgres = await startPostgres(DURABLE_POSTGRES)
  try {
    const server = await startTemporalServer({
      postgres: postgres.url('postgres'),
      dynamicConfig: DYNAMIC_CONFIG,
    })
    try {
      const store = { database: postgres.url('postgres'), blobs: join(folder, 'blobs') }
      setUpStore(server.address, store.database)
      const { address } = server
      return await work({ kind: 'postgres', address, pid: server.pid(), metrics: undefined, store })
    } finally {
      await server.stop()
    }
  } finally {
    await postgres.stop()
  }
}

/** Its progress is for people: the figures have standard output for themselves. */
function installServers(): void {
  execFileSync('./temporal-dev.sh', ['install-servers'], {
    cwd: new URL('..', import.meta.url),
    stdio: ['ignore', process.stderr.fd, 'inherit'],
  })
}
