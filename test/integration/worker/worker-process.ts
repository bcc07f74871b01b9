/** A worker in a process of its own, as users run it but for the thread of workflow code; it dies where the test tells it to. */
import { flushCompileCache } from 'node:module'

import { NativeConnection } from '@temporalio/worker'
import type { WorkerPlugin } from '@temporalio/worker'
import { createActivities } from '../../../src/activities/index.js'
import type { Registry } from '../../../src/definitions/known-definitions.js'
import { shareStore } from '../../../src/store/open-store.js'
import { runCaps } from '../../../src/definitions/plan/build-plan.js'
import { createWorker } from '../../../src/worker/index.js'
import { pageDesk } from '../../page/page-desk.js'
import { endingsDesk } from '../subagent-endings/desk.js'
import { mortalStore } from './death.js'
import type { Death } from './death.js'
import { integrationDesk } from './desk.js'
import { mcpDesk } from './mcp-desk.js'
import { queuesDesk } from './queues-desk.js'
import { workflowsDesk } from './workflows-desk.js'
import type { WorkerOrder, WorkerPlace } from './run-worker.js'

const place = JSON.parse(process.argv[2] ?? '') as WorkerPlace
const registry = deskOf(place)
let death: Death | undefined

/** The same activities on a store that can kill its process: nothing in `src` knows of it. */
const mortal: WorkerPlugin = {
  name: 'mortal',
  configureWorker: (options) => ({ ...options, activities: { ...options.activities, ...activities } }),
}
const caps = runCaps({}, place.runAhead)
const store = await shareStore(place.store)
const activities = createActivities({ registry, store: mortalStore(store, () => death), caps })

const connection = await NativeConnection.connect({ address: place.address })
const worker = await createWorker({
  registry,
  store: place.store,
  connection,
  namespace: place.namespace,
  taskQueue: place.taskQueue,
  ...(place.workflows === false ? { workflows: false } : { workflowBundle: { codePath: place.codePath } }),
  debugMode: place.hasWorkflowThread === false,
  plugins: place.ownActivities === true ? [] : [mortal],
  ...(place.runAhead !== undefined && { runAhead: place.runAhead }),
  shutdownGraceTime: place.graceTime,
  // Heartbeat timeouts are short here, and the SDK would let a heartbeat through after 80 % of one.
  maxHeartbeatThrottleInterval: '500ms',
  ...(place.workflowTasks !== undefined && { maxConcurrentWorkflowTaskExecutions: place.workflowTasks }),
  ...(place.deploymentName !== undefined && {
    workerDeploymentOptions: {
      version: { deploymentName: place.deploymentName, buildId: place.version ?? '1' },
      useWorkerVersioning: true,
    },
  }),
  ...(place.maxCachedWorkflows !== undefined && { maxCachedWorkflows: place.maxCachedWorkflows }),
})

process.on('message', (order: WorkerOrder) => {
  if (order.kind === 'die') death = order.at
  else void run()
})
// The runtime of the SDK shuts the worker down at the same signal.
process.on('SIGTERM', () => process.send?.('stopping'))
// A test that died leaves no worker behind.
process.on('disconnect', () => process.exit())
// Node writes the cache at an exit, which a killed process never comes to.
flushCompileCache()
process.send?.('ready')

function deskOf({ desk }: WorkerPlace): Registry {
  if (desk === 'mcp') return mcpDesk(place)
  if (desk === 'workflows') return workflowsDesk(place)
  if (desk === 'page') return pageDesk()
  if (desk === 'endings') return endingsDesk(place)
  return desk === 'queues' ? queuesDesk(place) : integrationDesk(place)
}

async function run(): Promise<void> {
  const ended = worker.run()
  process.send?.('running')
  await ended
  await store.close()
  await connection.close()
  process.disconnect()
}
