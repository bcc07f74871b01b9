import { Client } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import { ThreadClient } from 'everthread/client'
import { createWorker } from 'everthread/worker'
import type { CreateWorkerOptions } from 'everthread/worker'

import type { BenchServers } from './bench-servers.js'

export interface BenchThreads {
  readonly client: Client
  readonly threads: ThreadClient
}

/** What the worker is, beside its place. */
type Work = Omit<CreateWorkerOptions, 'connection' | 'store'> & { readonly taskQueue: string }

let quiet = false

/** A worker, a connection and a client in this process, while `work` is done. */
export async function withThreads<T>(
  { address, store }: BenchServers,
  options: Work,
  work: (bench: BenchThreads) => Promise<T>,
): Promise<T> {
  // What a worker says at INFO is no concern of who reads figures; a process can say so once.
  if (!quiet) Runtime.install({ logger: new DefaultLogger('WARN') })
  quiet = true
  const { taskQueue, namespace } = options
  const connection = await NativeConnection.connect({ address })
  try {
    const worker = await createWorker({ shutdownGraceTime: 0, ...options, store, connection })
    const client = new Client({ connection, ...(namespace !== undefined && { namespace }) })
    const threads = new ThreadClient({ client, taskQueue, store })
    try {
      return await worker.runUntil(work({ client, threads }))
    } finally {
      await threads.close()
    }
  } finally {
    await connection.close()
  }
}
