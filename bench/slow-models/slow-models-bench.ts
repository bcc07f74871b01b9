/** What do many turns that wait for slow models cost the server and one worker, beside the official integration? */
import { join } from 'node:path'

import { Client, Connection } from '@temporalio/client'
import { DefaultLogger, Runtime } from '@temporalio/worker'

import type { BenchServers } from '../bench-servers.js'
import { writeBundles } from '../bundles.js'
import type { BenchResult } from '../figure.js'
import { describeMachine } from '../machine.js'
import { installPackage } from '../peers/install-package.js'
import { inTemporaryFolder } from '../temporary-folder.js'
import { measureSlowModels } from './measure-slow-models.js'
import { slowModelsReport } from './slow-models-report.js'

export function slowModelsBench(
  servers: BenchServers,
): Promise<BenchResult & { readonly machine: readonly string[] }> {
  Runtime.install({ logger: new DefaultLogger('WARN') })
  return inTemporaryFolder(async (folder) => {
    const { thread: bundle } = await writeBundles(folder)
    await installPackage(folder)
    const connection = await Connection.connect({ address: servers.address })
    try {
      const client = new Client({ connection })
      const paths = { folder, threadBundle: bundle.path, peerBundle: join(folder, 'ai_sdk.js') }
      const measured = await measureSlowModels({ servers, client, paths })
      return { ...slowModelsReport(measured), machine: await describeMachine(client.workflow, servers) }
    } finally {
      await connection.close()
    }
  })
}
