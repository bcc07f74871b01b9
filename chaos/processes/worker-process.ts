/** A worker as users run it, in a process of its own; it tells the driver what it is at, and nothing else of it is special. */
import { NativeConnection } from '@temporalio/worker'
import type { ActivityInterceptorsFactory } from '@temporalio/worker'
import { createWorker } from 'everthread/worker'

import { chaosDesk } from '../desk/chaos-desk.js'
import { openJournal } from '../desk/journal.js'
import type { WorkerPlace, WorkerReport } from './places.js'

const place = JSON.parse(process.argv[2] ?? '') as WorkerPlace

const say = (report: WorkerReport): void => {
  if (process.connected) process.send?.(report)
}

/** Who a kill cuts off, and when others go on. */
const telling: ActivityInterceptorsFactory = ({ info }) => {
  const { workflowExecution, activityType: activity, attempt } = info
  const threadId = workflowExecution?.workflowId ?? ''
  return {
    inbound: {
      async execute(input, next) {
        say({ kind: 'begun', threadId, activity, attempt })
        let ok = false
        try {
          const answer = await next(input)
          ok = true
          return answer
        } finally {
          say({ kind: 'ended', threadId, activity, ok })
        }
      },
    },
  }
}

// A driver that died leaves no worker behind, in its start neither.
process.on('disconnect', () => process.exit())
if (!process.connected) process.exit()
const connection = await NativeConnection.connect({ address: place.address })
const worker = await createWorker({
  registry: chaosDesk({ journal: openJournal(place.deeds), gates: place.gates }, place.version),
  store: place.store,
  connection,
  // Nothing comes near it: every call is charged, and what a kill leaves is looked at in the end.
  budgets: { tree: { maxModelCalls: 1_000_000, maxToolCalls: 1_000_000, maxOutputTokens: 1_000_000_000 } },
  taskQueue: place.taskQueue,
  workflowBundle: { codePath: place.codePath },
  interceptors: { activity: [telling] },
  shutdownGraceTime: place.graceTime,
})
const ended = worker.run()
say({ kind: 'running', door: import.meta.resolve('everthread') })
await ended
await connection.close()
process.exit()
