/** What do the official agent integrations for Temporal do with the long turn that `long-turn` measures of ours? */
import { Client, Connection } from '@temporalio/client'

import type { BenchServers } from '../bench-servers.js'
import type { BenchResult } from '../figure.js'
import { describeMachine } from '../machine.js'
import { measurePeers } from './measure-peers.js'
import { peerVersions } from './peer-versions.js'
import { peersReport } from './peers-report.js'
import { withPeers } from './with-peers.js'

export async function peersBench(
  servers: BenchServers,
): Promise<BenchResult & { readonly machine: readonly string[] }> {
  const connection = await Connection.connect({ address: servers.address })
  try {
    const client = new Client({ connection })
    const measured = await withPeers(servers, (peers) => measurePeers(client, peers))
    return {
      ...peersReport(measured, peerVersions()),
      machine: await describeMachine(client.workflow, servers),
    }
  } finally {
    await connection.close()
  }
}
