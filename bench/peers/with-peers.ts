import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import type { BenchServers } from '../bench-servers.js'
import { startProcess } from '../processes/bench-process.js'
import type { BenchProcess } from '../processes/bench-process.js'
import { inTemporaryFolder } from '../temporary-folder.js'
import { installPackage, PACKAGE } from './install-package.js'
import { PEERS } from './peer-orders.js'
import type { PeerName, PeerOrders, PeerPlace } from './peer-orders.js'

/** A worker alone, from the folder that all is installed in. */
export const WORKER = `${PACKAGE}/peer-worker.js`

export interface InstalledPeers {
  readonly folder: string
  readonly places: Readonly<Record<PeerName, PeerPlace>>
  readonly processes: Readonly<Record<PeerName, BenchProcess<PeerOrders>>>
}

/** Starts a process of a peer from the folder that all is installed in. */
export function startPeer(
  folder: string,
  place: PeerPlace,
  nodeOptions: readonly string[] = [],
): Promise<BenchProcess<PeerOrders>> {
  const file = pathToFileURL(join(folder, PACKAGE, 'peer-process.ts'))
  return startProcess<PeerOrders>(file, place, nodeOptions)
}

/** Runs `work` with a process of each peer, made of its own packages in a temporary folder, and removes all of it. */
export async function withPeers<T>(
  { address }: BenchServers,
  work: (peers: InstalledPeers) => Promise<T>,
): Promise<T> {
  return inTemporaryFolder(async (folder) => {
    await installPackage(folder)
    const place = (name: PeerName): PeerPlace => {
      return { address, name, taskQueue: `bench-peers-${name}`, bundlePath: join(folder, `${name}.js`) }
    }
    const places = { ai_sdk: place('ai_sdk'), openai_agents: place('openai_agents') }
    const started: [PeerName, BenchProcess<PeerOrders>][] = []
    try {
      for (const name of PEERS) started.push([name, await startPeer(folder, places[name])])
      // All names are in it: the loop has them from the same list.
      const processes = Object.fromEntries(started) as InstalledPeers['processes']
      return await work({ folder, places, processes })
    } finally {
      await Promise.all(started.map(([, one]) => one.end()))
    }
  })
}
