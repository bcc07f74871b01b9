/** Our step against a bare loop of two empty activities: same server, worker, connection and minute. */
import { Client } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import { ThreadClient } from 'everthread/client'
import { createWorker } from 'everthread/worker'

import type { BenchServers } from '../bench-servers.js'
import type { BenchResult } from '../figure.js'
import { describeMachine } from '../machine.js'
import { bareActivities } from './bare-activities.js'
import type { Turn } from './looping-model.js'
import { measurePairs } from './measure-pairs.js'
import { stepReport } from './step-report.js'
import { stepRegistry } from './step-registry.js'
import { createStopwatch } from './stopwatch.js'

const TASK_QUEUE = 'bench-step'

export async function stepBench(
  servers: BenchServers,
): Promise<BenchResult & { readonly machine: readonly string[] }> {
  // What a worker says at INFO is no concern of who reads figures.
  Runtime.install({ logger: new DefaultLogger('WARN') })
  const connection = await NativeConnection.connect({ address: servers.address })
  try {
    const client = new Client({ connection })
    const measured = await measure(servers, connection, client)
    return { ...stepReport(measured), machine: await describeMachine(client.workflow, servers) }
  } finally {
    await connection.close()
  }
}

async function measure(
  { store }: BenchServers,
  connection: NativeConnection,
  client: Client,
): Promise<Awaited<ReturnType<typeof measurePairs>>> {
  const turn: Turn = { calls: 0, resultLength: 0, ended: () => {} }
  const stopwatch = createStopwatch()
  const worker = await createWorker({
    registry: stepRegistry(turn, stopwatch),
    store,
    connection,
    taskQueue: TASK_QUEUE,
    workflowsPath: new URL('workflows.ts', import.meta.url).pathname,
    activities: { ...bareActivities(stopwatch) },
    // Nothing is running when the worker is told to end.
    shutdownGraceTime: 0,
  })
  const threads = new ThreadClient({ client, taskQueue: TASK_QUEUE, store })
  try {
    return await worker.runUntil(measurePairs({ client, threads, taskQueue: TASK_QUEUE, turn, stopwatch }))
  } finally {
    await threads.close()
  }
}
