import { setTimeout as delay } from 'node:timers/promises'

import type { PostgresServer } from '../../test/support/postgres-server.js'
import { startDevServer } from '../../test/support/servers.js'
import { startTemporalServer } from '../../test/support/temporal-server.js'

/** A server that can be killed, and comes back where it was, with all that it has answered. */
export interface KillableServer {
  readonly port: number
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>
  /** Resolves when it takes requests again. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** On a busy machine what a killed one leaves behind, its port too, takes its time to go. */
const STARTS = 10

/** The dev server, with its data in a file. */
export async function killableDevServer(dbFilename: string): Promise<KillableServer> {
  let server = await startDevServer({ dbFilename })
  const port = Number(server.address.split(':')[1])
  return {
    port,
    async kill() {
      process.kill(server.pid, 'SIGKILL')
      await server.stop()
    },
    async restart() {
      server = await persistently(() => startDevServer({ port, dbFilename }))
    },
    stop: () => server.stop(),
  }
}

/** A server as production has it, on a PostgreSQL. */
export async function killableTemporal(postgres: string): Promise<KillableServer> {
  const server = await startTemporalServer({ postgres })
  return {
    port: Number(server.address.split(':')[1]),
    kill: () => server.kill(),
    restart: () => server.start(),
    stop: () => server.stop(),
  }
}

/** A PostgreSQL, whose processes end as by a power cut of theirs; the machine stays. */
export function killablePostgres(server: PostgresServer): KillableServer {
  return {
    port: server.port,
    kill: () => server.kill(),
    restart: () => persistently(() => server.start()),
    stop: () => server.stop(),
  }
}

async function persistently<T>(start: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start()
    } catch (error) {
      if (attempt === STARTS) throw error
      await delay(500)
    }
  }
}
