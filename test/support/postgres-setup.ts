import { createServer } from 'node:http'

import type { TestProject } from 'vitest/node'

import { startPostgres } from './postgres-server.js'
import type { PostgresServer } from './postgres-server.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** Answers with the URL of the run's PostgreSQL, which is started when it is first asked for. */
    readonly postgresStarter: string
  }
}

/** Global setup: one PostgreSQL for all tests of the run; a run that asks for none starts none. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined
  const starter = createServer((_request, response) => {
    server ??= startPostgres()
    server.then(
      ({ url }) => response.end(url('postgres')),
      (error: unknown) => response.writeHead(500).end(error instanceof Error ? error.message : 'no start'),
    )
  })
  await new Promise<void>((resolve) => starter.listen(0, '127.0.0.1', resolve))
  const address = starter.address()
  if (address === null || typeof address === 'string') throw new Error('Expected a TCP address')
  project.provide('postgresStarter', `http://127.0.0.1:${address.port}`)
  return async () => {
    starter.closeAllConnections()
    starter.close()
    await server?.then((started) => started.stop()).catch(() => undefined)
  }
}
