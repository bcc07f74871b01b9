/** What does a turn cost on Temporal, beside the same turn of the official integrations? */
import type { BenchServers } from '../bench-servers.js'
import { writeBundles } from '../bundles.js'
import type { BenchResult } from '../figure.js'
import { machineAt } from '../machine.js'
import { installPackage } from '../peers/install-package.js'
import { peerVersions } from '../peers/peer-versions.js'
import { inTemporaryFolder } from '../temporary-folder.js'
import { allCells, PEER_LOOPS } from './cells.js'
import { costReport } from './cost-report.js'
import { measureCells, registerNamespaces } from './measure-cell.js'
import { bundlePeers } from './measure-peer.js'

export async function costBench(
  servers: BenchServers,
): Promise<BenchResult & { readonly machine: readonly string[] }> {
  const { metrics } = servers
  if (metrics === undefined)
    throw new Error(
      'Expected --server dev, whose counters are read: what is billed is the same on each server.',
    )
  const cells = allCells()
  return inTemporaryFolder(async (folder) => {
    // Before the packages are installed: the server takes some seconds until it knows a namespace everywhere.
    await registerNamespaces(servers, cells)
    await installPackage(folder)
    await bundlePeers(servers, folder, PEER_LOOPS)
    const { thread: bundle } = await writeBundles(folder)
    const measured = await measureCells({ servers, metrics, bundle, folder }, cells)
    return { ...costReport(measured, peerVersions()), machine: await machineAt(servers) }
  })
}
