/** A process with a worker of bare loops: nothing of Everthread is loaded. */
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker'

import { bareActivities } from '../step/bare-activities.js'
import { serveLoops, workflowTally } from './loop-worker.js'
import type { LoopPlace } from './loop-worker.js'

const { address, taskQueue, codePath } = JSON.parse(process.argv[2] ?? '') as LoopPlace
Runtime.install({ logger: new DefaultLogger('WARN') })
const { tally, mark } = workflowTally()
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue,
  workflowBundle: { codePath },
  activities: { ...bareActivities({ mark: () => void mark() }) },
})
serveLoops({ tally, run: () => worker.run() })
