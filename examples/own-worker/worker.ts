// A team's existing worker: one line adds threads.
import { fileURLToPath } from 'node:url'

import { Client } from '@temporalio/client'
import { NativeConnection, Worker } from '@temporalio/worker'
import { ThreadClient } from 'everthread/client'
import { EverthreadPlugin } from 'everthread/worker'

import { shopActivities } from './activities.ts'
import { complaints } from './registry.ts'

const connection = await NativeConnection.connect({
  address: process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233',
})
const taskQueue = 'shop'
const threads = new ThreadClient({ client: new Client({ connection }), taskQueue })
const worker = await Worker.create({
  connection,
  taskQueue,
  workflowsPath: fileURLToPath(new URL('./workflows.ts', import.meta.url)),
  activities: shopActivities(threads),
  plugins: [new EverthreadPlugin({ registry: complaints })],
})
console.log(
  'worker: ready; temporal workflow execute --task-queue shop --type reviewComplaint --input \'"A-17"\'',
)
await worker.run()
await threads.close()
await connection.close()
