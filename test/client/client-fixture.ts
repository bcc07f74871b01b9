import { randomBytes, randomUUID } from 'node:crypto'
import { Client, Connection } from '@temporalio/client'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { ThreadClient } from '../../src/client/index.js'
import type { EgressOptions, StoreOptions } from '../../src/client/index.js'
import { openStore } from '../../src/store/open-store.js'
import type { Store } from '../../src/store/store.js'
import { startDevServer } from '../support/servers.js'
import type { DevServer } from '../support/servers.js'
import { makePlace } from '../support/test-store.js'

export interface ClientFixture {
  readonly threads: ThreadClient
  readonly taskQueue: string
  /** Of the store, for other processes. */
  readonly place: StoreOptions
  /** Another connection to the same store, as a worker has one. */
  readonly store: Store
  /** Where it is. */
  readonly blobFolder: string
  close(): Promise<void>
}

/** A client with a store of its own and a task queue that no worker polls. Without an address nothing may connect. */
export async function createClientFixture(
  address = '127.0.0.1:1',
  {
    secretKey = randomBytes(32).toString('base64'),
    namespace = 'default',
    egress = {},
  }: {
    readonly secretKey?: string
    readonly namespace?: string
    readonly egress?: EgressOptions
  } = {},
): Promise<ClientFixture> {
  const { place, blobFolder, remove } = await makePlace()
  const location = { ...place, secretKey }
  const store = await openStore(location)
  const connection = Connection.lazy({ address })
  const taskQueue = `client-${randomUUID()}`
  const threads = new ThreadClient({
    client: new Client({ connection, namespace }),
    taskQueue,
    store: location,
    egress,
  })
  return {
    threads,
    taskQueue,
    place: location,
    store,
    blobFolder,
    async close() {
      await threads.close()
      await store.close()
      await connection.close()
      await remove()
    },
  }
}

interface ServedFixture extends Omit<ClientFixture, 'close' | 'blobFolder'> {
  readonly address: string
}

/** A fixture of its own for each test of a file, on a server that no worker knows. */
export function servedFixture(): ServedFixture {
  let server: DevServer
  let fixture: ClientFixture
  beforeAll(async () => {
    server = await startDevServer()
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    fixture = await createClientFixture(server.address)
  })
  afterEach(() => fixture.close())
  return {
    get address() {
      return server.address
    },
    get threads() {
      return fixture.threads
    },
    get place() {
      return fixture.place
    },
    get taskQueue() {
      return fixture.taskQueue
    },
    get store() {
      return fixture.store
    },
  }
}

export async function collect<T>(values: AsyncIterable<T>): Promise<readonly T[]> {
  const collected: T[] = []
  for await (const value of values) collected.push(value)
  return collected
}
