import type { Client } from '@temporalio/client'

import type { BenchProcess } from '../processes/bench-process.js'
import { CONVERSATIONS } from '../step/conversations.js'
import type { Conversation } from '../step/conversations.js'
import { historyCost } from '../step/history-cost.js'
import { PEERS } from './peer-orders.js'
import type { PeerName, PeerOrders } from './peer-orders.js'
import { turnEnd } from './turn-end.js'
import type { TurnEnd } from './turn-end.js'
import { measureStarts } from './measure-starts.js'
import type { InstalledPeers } from './with-peers.js'

/** Each ends the same way in each; the times move. */
const ROUNDS = 3
/** As `step` measures our own steps: few of them, and a tool that answers two characters. */
const SMALL = { conversation: { name: '1 KB', bytes: 1_000, calls: 1 }, calls: 40, resultLength: 2 } as const
/** As `long-turn` has it. */
const LONG = { calls: 100, resultLength: 5_000 } as const
const LARGE_CONVERSATIONS = [CONVERSATIONS[1], CONVERSATIONS[2]] as const

/** The name of the activity that calls the model. */
const MODEL_CALLS: Readonly<Record<PeerName, string>> = {
  ai_sdk: 'invokeModel',
  openai_agents: 'invokeModelActivity',
}

export interface PeerTurn {
  readonly peer: PeerName
  readonly conversation: Conversation
  /** Tool calls that the model wanted, and those that ended. */
  readonly calls: number
  readonly done: number
  readonly end: TurnEnd
  /** Milliseconds of each step, from model call to model call. */
  readonly steps: readonly number[]
  /** What a step added to the history, of a turn on a small conversation. */
  readonly bytesPerStep?: number
}

export interface MeasuredPeers {
  readonly turns: readonly PeerTurn[]
  /** Of the code of their workflows. */
  readonly bundleBytes: Readonly<Record<PeerName, number>>
  /** Milliseconds from the start of a worker process to its first poll. */
  readonly starts: Readonly<Record<PeerName, readonly number[]>>
}

export async function measurePeers(client: Client, installed: InstalledPeers): Promise<MeasuredPeers> {
  const { processes } = installed
  return {
    turns: await measureTurns(client, processes),
    bundleBytes: {
      ai_sdk: await processes.ai_sdk.ask('bundleBytes'),
      openai_agents: await processes.openai_agents.ask('bundleBytes'),
    },
    starts: await measureStarts(client, installed),
  }
}

/** Sizes and peers in turn, so that a burst of other work does not hit one of them alone. */
async function measureTurns(
  client: Client,
  processes: InstalledPeers['processes'],
): Promise<readonly PeerTurn[]> {
  const turns: PeerTurn[] = []
  // Pays for compilation, so that the first of the turns does not.
  for (const name of PEERS) await smallTurn(client, name, processes[name])
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const name of PEERS) turns.push(await smallTurn(client, name, processes[name]))
    for (const conversation of LARGE_CONVERSATIONS)
      for (const name of PEERS)
        turns.push(await takeTurn(client, name, { process: processes[name], conversation, ...LONG }))
  }
  return turns
}

async function smallTurn(
  client: Client,
  peer: PeerName,
  process: BenchProcess<PeerOrders>,
): Promise<PeerTurn> {
  const turn = await takeTurn(client, peer, { process, ...SMALL })
  const { bytes } = await historyCost(client, turn.workflowId, SMALL.calls + 1, MODEL_CALLS[peer])
  return { ...turn, bytesPerStep: bytes }
}

interface Wanted {
  readonly process: BenchProcess<PeerOrders>
  readonly conversation: Conversation
  readonly calls: number
  readonly resultLength: number
}

async function takeTurn(
  client: Client,
  peer: PeerName,
  { process, conversation, calls, resultLength }: Wanted,
): Promise<PeerTurn & { readonly workflowId: string }> {
  const { bytes, calls: pastCalls } = conversation
  const past = { bytes, calls: pastCalls }
  const { workflowId, asked, done } = await process.ask('takeTurn', { past, calls, resultLength })
  const end = await turnEnd(client, workflowId)
  if (end.status === 'COMPLETED' && done !== calls)
    throw new Error(`Expected ${calls} tool calls of ${workflowId}, got ${done}.`)
  const steps = asked.slice(1).map((begin, index) => begin - (asked[index] ?? begin))
  return { peer, conversation, calls, done, end, steps, workflowId }
}
