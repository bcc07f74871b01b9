/** How soon do subscribers in another process have what a model says, on both stores? */
import { execFileSync } from 'node:child_process'

import { Client } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'

import { startPostgres } from '../../test/support/postgres-server.js'
import { withServers } from '../bench-servers.js'
import type { BenchServers } from '../bench-servers.js'
import type { BenchResult } from '../figure.js'
import { describeMachine } from '../machine.js'
import { eventsReport } from './events-report.js'
import { measureStore } from './measure-store.js'
import type { Measured } from './measure-store.js'

/** As a database is run that must not lose what it has told. */
const DURABLE = ['fsync=on', 'full_page_writes=on']

export function eventsBench(): Promise<BenchResult & { readonly machine: readonly string[] }> {
  // What a worker says at INFO is no concern of who reads figures.
  Runtime.install({ logger: new DefaultLogger('WARN') })
  return withServers(async ({ address, store }) => {
    const connection = await NativeConnection.connect({ address })
    try {
      const sqlite = await measureStore({ name: 'sqlite', connection, store })
      const postgres = await measurePostgres(connection, { address, store })
      const machine = await describeMachine(new Client({ connection }).workflow)
      return { ...eventsReport([...sqlite, ...postgres]), machine }
    } finally {
      await connection.close()
    }
  })
}

async function measurePostgres(
  connection: NativeConnection,
  { address, store }: BenchServers,
): Promise<readonly Measured[]> {
  const server = await startPostgres(DURABLE)
  try {
    const database = server.url('postgres')
    setUp(address, database)
    return await measureStore({ name: 'postgres', connection, store: { ...store, database } })
  } finally {
    await server.stop()
  }
}

/** As everybody makes the schema. */
function setUp(address: string, database: string): void {
  execFileSync(process.execPath, ['dist/cli/everthread.js', 'setup'], {
    cwd: new URL('../..', import.meta.url),
    env: { ...process.env, TEMPORAL_ADDRESS: address, EVERTHREAD_DATABASE_URL: database },
    stdio: ['ignore', process.stderr.fd, 'inherit'],
  })
}
