/** The least worker process that Temporal's SDK allows; it is run as JavaScript. */
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker'
import type { WorkflowBundleOption } from '@temporalio/worker'

interface Options {
  readonly address: string
  readonly taskQueue: string
  readonly workflows: { readonly workflowBundle: WorkflowBundleOption } | { readonly workflowsPath: string }
}

const { address, taskQueue, workflows } = JSON.parse(process.env['BENCH_START'] ?? '{}') as Options
Runtime.install({ logger: new DefaultLogger('WARN') })
const connection = await NativeConnection.connect({ address })
const worker = await Worker.create({
  connection,
  taskQueue,
  ...workflows,
  activities: { first: async () => {}, second: async () => {} },
})
await worker.run()
