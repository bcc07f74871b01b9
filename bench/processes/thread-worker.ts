/** A process with a worker of threads. */
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import type { StoreOptions } from 'everthread/client'
import { createWorker } from 'everthread/worker'

import { loopModel } from '../loop/loop-model.js'
import { loopRegistry } from '../loop/loop-registry.js'
import { slowModel } from '../loop/slow-model.js'
import { serveLoops, workflowTally } from './loop-worker.js'
import type { LoopPlace } from './loop-worker.js'

export interface ThreadPlace extends LoopPlace {
  readonly store: StoreOptions
  /** How long each answer of its model takes. @default 0 */
  readonly seconds?: number
  /** Calls of models and tools that it makes at a time. @default the SDK's */
  readonly calls?: number
  /** Steps that one activity does. @default a model call or tool call */
  readonly runAhead?: number
}

const { address, taskQueue, codePath, store, maxCachedWorkflows, seconds, calls, runAhead } = JSON.parse(
  process.argv[2] ?? '',
) as ThreadPlace
Runtime.install({ logger: new DefaultLogger('WARN') })
const { tally, mark } = workflowTally()
const model =
  seconds === undefined ? loopModel(mark) : slowModel({ seconds: () => seconds, speaks: false, goesOn: mark })
const worker = await createWorker({
  registry: loopRegistry({ model }),
  store,
  connection: await NativeConnection.connect({ address }),
  taskQueue,
  workflowBundle: { codePath },
  ...(maxCachedWorkflows !== undefined && { maxCachedWorkflows }),
  ...(runAhead !== undefined && { runAhead }),
  ...(calls !== undefined && { maxConcurrentActivityTaskExecutions: calls }),
})
serveLoops({ tally, run: () => worker.run() })
