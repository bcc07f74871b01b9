import { NativeConnection } from '@temporalio/worker'

import type { Registry } from '../../src/index.js'
import { createWorker } from '../../src/worker/index.js'
import type { DevServer } from '../support/servers.js'
import { createClientFixture } from './client-fixture.js'
import type { ClientFixture } from './client-fixture.js'

export interface WorkingFixture extends ClientFixture {
  /** Ends the worker; the client goes on. */
  endWorker(): Promise<void>
}

export interface Working {
  readonly registry: Registry
  readonly server: Pick<DevServer, 'address'>
  /** A bundle that is there already. @default a new one */
  readonly workflowBundle?: { readonly codePath: string }
  /** Where the client connects to. @default the server */
  readonly address?: string
}

/** A client, and a worker of these agents that polls its task queue. */
export async function createWorkingFixture({
  registry,
  server,
  address,
  workflowBundle,
}: Working): Promise<WorkingFixture> {
  const fixture = await createClientFixture(address ?? server.address)
  const connection = await NativeConnection.connect({ address: server.address })
  const { taskQueue, place: store } = fixture
  const worker = await createWorker({
    ...{ registry, connection, taskQueue, store, shutdownGraceTime: 0 },
    ...(workflowBundle === undefined ? {} : { workflowBundle }),
  })
  const running = worker.run()
  let ended: Promise<void> | undefined

  async function end(): Promise<void> {
    worker.shutdown()
    await running
    await connection.close()
  }

  const endWorker = (): Promise<void> => (ended ??= end())
  return {
    ...fixture,
    endWorker,
    async close() {
      await endWorker()
      await fixture.close()
    },
  }
}
