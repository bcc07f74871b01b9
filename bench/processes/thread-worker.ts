/** A process with a worker of threads. */
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import type { StoreOptions } from 'everthread/client'
import { createWorker } from 'everthread/worker'

import { loopModel } from '../loop/loop-model.js'
import { loopRegistry } from '../loop/loop-registry.js'
import { serveLoops, workflowTally } from './loop-worker.js'
import type { LoopPlace } from './loop-worker.js'

export interface ThreadPlace extends LoopPlace {
  readonly store: StoreOptions
}

const { address, taskQueue, codePath, store, maxCachedWorkflows } = JSON.parse(
  process.argv[2] ?? '',
) as ThreadPlace
Runtime.install({ logger: new DefaultLogger('WARN') })
const { tally, mark } = workflowTally()
const worker = await createWorker({
  registry: loopRegistry({ model: loopModel(mark) }),
  store,
  connection: await NativeConnection.connect({ address }),
  taskQueue,
  workflowBundle: { codePath },
  ...(maxCachedWorkflows !== undefined && { maxCachedWorkflows }),
})
serveLoops({ tally, run: () => worker.run() })
