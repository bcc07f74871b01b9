/** What does a thread leave behind, and which part of it is how much? 100 calls on 0.42 MB, by activities and with run ahead. */
import type { BenchServers } from '../bench-servers.js'
import type { BenchResult, Figure } from '../figure.js'
import { storedBytes } from '../long-turn/stored-bytes.js'
import { threadHistoryBytes } from '../long-turn/turn-history.js'
import { withLoopingWorker } from '../looping-worker.js'
import type { LoopingWorker } from '../looping-worker.js'
import { describeMachine } from '../machine.js'
import { conversationOf, CONVERSATIONS } from '../step/conversations.js'
import type { Conversation } from '../step/conversations.js'
import { tableBytes } from './table-bytes.js'

const CALLS = 100
/** As pages and listings are. */
const RESULT = 5_000
const [SMALL, MIDDLE] = CONVERSATIONS
const MB = 1_000_000

/** Bytes by the name of a part: tables, `blobs`, and `history` of Temporal. */
type Parts = ReadonlyMap<string, number>

const AGENTS = { worker: 'by activities', ahead: 'with runAhead' } as const
type Agent = keyof typeof AGENTS

export async function storedBench(
  servers: BenchServers,
): Promise<BenchResult & { readonly machine: readonly string[] }> {
  return withLoopingWorker(servers, { taskQueue: 'bench-stored', maxSteps: CALLS + 1 }, async (worker) => {
    // What the first thread of a store brings with it is no part of the next one.
    for (const agent of ['worker', 'ahead'] as const)
      await partsOf(servers, worker, { conversation: SMALL, calls: 1, agent })
    const turn = { conversation: MIDDLE, calls: CALLS }
    const parts = {
      worker: await partsOf(servers, worker, { ...turn, agent: 'worker' }),
      ahead: await partsOf(servers, worker, { ...turn, agent: 'ahead' }),
    }
    return { ...report(parts), machine: await describeMachine(worker.client.workflow, servers) }
  })
}

async function partsOf(
  servers: BenchServers,
  worker: LoopingWorker,
  {
    conversation,
    calls,
    agent,
  }: { readonly conversation: Conversation; readonly calls: number; readonly agent: Agent },
): Promise<Parts> {
  const before = { tables: await tableBytes(servers), stored: await storedBytes(servers) }
  const thread = await conversationOf(worker, conversation, agent)
  await worker.takeTurn(thread, { calls, resultLength: RESULT })
  const after = { tables: await tableBytes(servers), stored: await storedBytes(servers) }
  const history = await threadHistoryBytes(worker.client, thread.threadId)
  await thread.terminate()
  const tables = [...after.tables].map(
    ([name, bytes]) => [name, bytes - (before.tables.get(name) ?? 0)] as const,
  )
  return new Map([...tables, ['blobs', after.stored.blobs - before.stored.blobs], ['history', history]])
}

function report(parts: Readonly<Record<Agent, Parts>>): BenchResult {
  const names = [...parts.worker.keys()].filter((name) => bytesOf(parts.worker, name) > 0)
  const largest = names.toSorted((one, other) => bytesOf(parts.worker, other) - bytesOf(parts.worker, one))
  const lineOf = (name: string, of: (parts: Parts) => number): readonly string[] => [
    ...[name, (of(parts.worker) / MB).toFixed(3), (of(parts.ahead) / MB).toFixed(3)],
  ]
  const figure = (name: string, value: number): Figure => ({
    ...{ bench: 'stored', figure: name, value, unit: 'bytes' },
  })
  return {
    figures: [
      figure('stored_bytes', sumOf(parts.worker)),
      figure('run_ahead_stored_bytes', sumOf(parts.ahead)),
    ],
    table: [
      ['part', `MB ${AGENTS.worker}`, `MB ${AGENTS.ahead}`],
      ...largest.map((name) => lineOf(name, (all) => bytesOf(all, name))),
      lineOf('all', sumOf),
    ],
    notes: [
      `A thread with ${CALLS} calls of 5 KB on a conversation of ${MIDDLE.name}, conversation included. Tables with their indexes.`,
      'How each figure is made: bench/README.md',
    ],
  }
}

function bytesOf(parts: Parts, name: string): number {
  return parts.get(name) ?? 0
}

function sumOf(parts: Parts): number {
  return [...parts.values()].reduce((sum, bytes) => sum + bytes, 0)
}
