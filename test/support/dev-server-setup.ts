import type { TestProject } from 'vitest/node'

import { startPostgres } from './postgres-server.js'
import { startDevServer } from './servers.js'
import type { DevServer } from './servers.js'
import { startTemporalServer } from './temporal-server.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** The Temporal server that all integration tests share, each with its own task queue and ids. */
    readonly devServerAddress: string
  }
}

/** A deleted history is gone when these queues have noted how far they are: every 30 seconds without this. */
const SOON_DELETED = {
  'history.transferProcessorUpdateAckInterval': '1s',
  'history.visibilityProcessorUpdateAckInterval': '1s',
}

/** Global setup: one Temporal server for all integration tests of the run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startServer(process.env['EVERTHREAD_TEST_TEMPORAL'])
  project.provide('devServerAddress', server.address)
  return () => server.stop()
}

/** The dev server, or the `temporal-server` of TEMPORAL_SERVER_BIN_PATH on the database that is named. */
async function startServer(database: string | undefined): Promise<Pick<DevServer, 'address' | 'stop'>> {
  if (database === undefined) return startDevServer({ dynamicConfig: SOON_DELETED })
  if (database === 'sqlite') return startTemporalServer({ dynamicConfig: SOON_DELETED })
  if (database !== 'postgres')
    throw new Error(`Expected EVERTHREAD_TEST_TEMPORAL to be "sqlite" or "postgres", got "${database}"`)
  const postgres = await startPostgres()
  const endPostgres = (): Promise<void> => postgres.stop()
  try {
    const options = { postgres: postgres.url('postgres'), dynamicConfig: SOON_DELETED }
    const server = await startTemporalServer(options)
    return { address: server.address, stop: () => server.stop().then(endPostgres) }
  } catch (error) {
    await endPostgres()
    throw error
  }
}
