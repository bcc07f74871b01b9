/** What do turns of 100 and 1,000 tool calls cost and leave behind, on conversations of three sizes? */
import type { BenchServers } from '../bench-servers.js'
import type { BenchResult } from '../figure.js'
import { withLoopingWorker } from '../looping-worker.js'
import { describeMachine } from '../machine.js'
import { CONVERSATIONS } from '../step/conversations.js'
import { longTurnReport } from './long-turn-report.js'
import { measureTurn } from './measure-turn.js'
import type { LongTurn } from './measure-turn.js'

const CALLS = [100, 1_000] as const

export async function longTurnBench(
  servers: BenchServers,
): Promise<BenchResult & { readonly machine: readonly string[] }> {
  const options = { taskQueue: 'bench-long-turn', maxSteps: Math.max(...CALLS) + 1 }
  return withLoopingWorker(servers, options, async (worker) => {
    // Pays for compilation, so that the first of the turns does not.
    await measureTurn(servers, worker, { conversation: CONVERSATIONS[0], calls: 40 })
    const turns: LongTurn[] = []
    for (const calls of CALLS)
      for (const conversation of CONVERSATIONS)
        turns.push(await measureTurn(servers, worker, { conversation, calls }))
    return { ...longTurnReport(turns), machine: await describeMachine(worker.client.workflow, servers) }
  })
}
