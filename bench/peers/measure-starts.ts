import type { Client } from '@temporalio/client'

import { timeToFirstPoll } from '../start/start-worker.js'
import { PEERS } from './peer-orders.js'
import type { PeerName } from './peer-orders.js'
import { WORKER } from './with-peers.js'
import type { InstalledPeers } from './with-peers.js'

const ROUNDS = 11

/** Milliseconds from the start of a worker process of each peer to its first poll, in turn. */
export async function measureStarts(
  client: Client,
  { folder, places }: InstalledPeers,
): Promise<Readonly<Record<PeerName, readonly number[]>>> {
  const times: Record<PeerName, number[]> = { ai_sdk: [], openai_agents: [] }
  // The first round fills the machine's file cache.
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const name of PEERS) {
      const taskQueue = `bench-peers-start-${name}-${round + 1}`
      const options = { ...places[name], taskQueue }
      const time = await timeToFirstPoll(client, { code: `import './${WORKER}'`, folder, taskQueue, options })
      if (round >= 0) times[name].push(time)
    }
  }
  return times
}
