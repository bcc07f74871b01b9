/** Many threads at once against as many bare loops: steps a second, and the memory of the worker. */
import { Client, Connection } from '@temporalio/client'
import { DefaultLogger, Runtime } from '@temporalio/worker'

import type { BenchServers } from '../bench-servers.js'
import type { BenchResult } from '../figure.js'
import { describeMachine } from '../machine.js'
import { writeBundles } from '../bundles.js'
import { inTemporaryFolder } from '../temporary-folder.js'
import { manyReport } from './many-report.js'
import { CROWDS, measureCrowd } from './measure-crowd.js'
import type { MeasuredCrowd } from './measure-crowd.js'

/** For a look at one size: `EVERTHREAD_BENCH_MANY=50`. */
const ONLY = process.env['EVERTHREAD_BENCH_MANY']?.split(',').map(Number)

export function manyBench(
  servers: BenchServers,
): Promise<BenchResult & { readonly machine: readonly string[] }> {
  Runtime.install({ logger: new DefaultLogger('WARN') })
  return inTemporaryFolder(async (folder) => {
    const bundles = await writeBundles(folder)
    const connection = await Connection.connect({ address: servers.address })
    try {
      const client = new Client({ connection })
      const measured: MeasuredCrowd[] = []
      for (const crowd of CROWDS.filter(({ loops }) => ONLY?.includes(loops) ?? true))
        measured.push(await measureCrowd({ servers, client, bundles }, crowd))
      return { ...manyReport(measured), machine: await describeMachine(client.workflow, servers) }
    } finally {
      await connection.close()
    }
  })
}
