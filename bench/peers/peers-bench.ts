/** What do the official agent integrations for Temporal do with the long turn that `long-turn` measures of ours? */
import { readFileSync } from 'node:fs'

import { Client, Connection } from '@temporalio/client'

import type { BenchServers } from '../bench-servers.js'
import type { BenchResult } from '../figure.js'
import { describeMachine } from '../machine.js'
import { measurePeers } from './measure-peers.js'
import { peersReport } from './peers-report.js'
import { withPeers } from './with-peers.js'

export async function peersBench(
  servers: BenchServers,
): Promise<BenchResult & { readonly machine: readonly string[] }> {
  const connection = await Connection.connect({ address: servers.address })
  try {
    const client = new Client({ connection })
    const measured = await withPeers(servers, (peers) => measurePeers(client, peers))
    return { ...peersReport(measured, versions()), machine: await describeMachine(client.workflow, servers) }
  } finally {
    await connection.close()
  }
}

/** What the peers are made of, as their package has it. */
function versions(): string {
  const file = new URL('package/package.json', import.meta.url)
  const { dependencies } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  return [
    '@temporalio/ai-sdk',
    'ai',
    '@temporalio/openai-agents',
    '@openai/agents-core',
    '@temporalio/worker',
  ]
    .map((name) => `${name} ${dependencies[name] ?? 'unknown'}`)
    .join(', ')
}
