/** How soon do subscribers in another process have what a model says, on both stores? */
import { Client } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'

import { startPostgres } from '../../test/support/postgres-server.js'
import { DURABLE_POSTGRES, withServers } from '../bench-servers.js'
import type { BenchServers } from '../bench-servers.js'
import type { BenchResult } from '../figure.js'
import { describeMachine } from '../machine.js'
import { setUpStore } from '../set-up-store.js'
import { eventsReport } from './events-report.js'
import { measureStore } from './measure-store.js'
import type { Measured } from './measure-store.js'

export function eventsBench(): Promise<BenchResult & { readonly machine: readonly string[] }> {
  // What a worker says at INFO is no concern of who reads figures.
  Runtime.install({ logger: new DefaultLogger('WARN') })
  return withServers('dev', async (servers) => {
    const { address, store } = servers
    const connection = await NativeConnection.connect({ address })
    try {
      const sqlite = await measureStore({ name: 'sqlite', connection, store })
      const postgres = await measurePostgres(connection, servers)
      const machine = await describeMachine(new Client({ connection }).workflow, servers)
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
  const server = await startPostgres(DURABLE_POSTGRES)
  try {
    const database = server.url('postgres')
    setUpStore(address, database)
    return await measureStore({ name: 'postgres', connection, store: { ...store, database } })
  } finally {
    await server.stop()
  }
}
