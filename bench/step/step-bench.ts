/** Our step, also run ahead, against a bare loop of two empty activities: same server, worker, connection and minute. */
import type { BenchServers } from '../bench-servers.js'
import type { BenchResult } from '../figure.js'
import { withLoopingWorker } from '../looping-worker.js'
import { describeMachine } from '../machine.js'
import { bareActivities } from './bare-activities.js'
import { measureRounds } from './measure-rounds.js'
import { stepReport } from './step-report.js'

export async function stepBench(
  servers: BenchServers,
): Promise<BenchResult & { readonly machine: readonly string[] }> {
  const options = {
    taskQueue: 'bench-step',
    workflowsPath: new URL('workflows.ts', import.meta.url).pathname,
    activities: bareActivities,
  }
  return withLoopingWorker(servers, options, async (worker) => {
    const measured = await measureRounds(worker)
    return { ...stepReport(measured), machine: await describeMachine(worker.client.workflow, servers) }
  })
}
