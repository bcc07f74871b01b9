import { join } from 'node:path'

import { Client, Connection } from '@temporalio/client'

import type { BenchServers } from '../bench-servers.js'
import type { PeerPlace, TakenTurn } from '../peers/peer-orders.js'
import { turnEnd } from '../peers/turn-end.js'
import { startPeer } from '../peers/with-peers.js'
import { namespaceOf } from './cells.js'
import type { Cell } from './cells.js'
import type { CostBench, MeasuredCell } from './measure-cell.js'
import { settledActions } from './server-actions.js'

type PeerLoop = PeerPlace['name']

/** What has no past: the question alone would be less than any size. */
const SMALL = { past: { bytes: 1_000, calls: 1 }, resultLength: 2 } as const

/** Bundles the workflows, so that no process does it while turns are taken. */
export async function bundlePeers(
  { address }: BenchServers,
  folder: string,
  names: readonly PeerLoop[],
): Promise<void> {
  for (const name of names) {
    const place = { address, name, taskQueue: 'bench-cost-bundle', bundlePath: bundlePath(folder, name) }
    const peer = await startPeer(folder, place)
    await peer.end()
  }
}

/** Takes the turn of a cell in a process of its own, made of the packages that are installed in `folder`. */
export async function measurePeer(
  { servers: { address }, metrics, folder }: CostBench,
  cell: Cell & { readonly loop: PeerLoop },
): Promise<MeasuredCell> {
  const namespace = namespaceOf(cell)
  const { loop: name, tools, seconds } = cell
  const peer = await startPeer(folder, {
    ...{ address, namespace, name, taskQueue: `bench-cost-${namespace}` },
    bundlePath: bundlePath(folder, name),
  })
  const connection = await Connection.connect({ address })
  try {
    const taken = await peer.ask('takeTurn', { ...SMALL, calls: tools, seconds })
    const end = await turnEnd(new Client({ connection, namespace }), taken.workflowId)
    if (end.status === 'COMPLETED' && taken.done !== tools)
      throw new Error(`Expected ${tools} tool calls in ${namespace}, got ${taken.done}.`)
    const ended = end.reason === undefined ? 'completed' : `terminated: ${end.reason}`
    return {
      ...{ cell, done: taken.done, modelCalls: taken.asked.length, events: end.events, bytes: end.bytes },
      actions: await settledActions(metrics, namespace),
      end: `${ended}${textOf(taken)}`,
    }
  } finally {
    await connection.close()
    await peer.end()
  }
}

function bundlePath(folder: string, name: PeerLoop): string {
  return join(folder, `${name}.js`)
}

function textOf({ text }: TakenTurn): string {
  if (text === undefined) return ''
  return 'pieces' in text ? `, ${text.pieces} pieces of text` : `, text until ${text.problem}`
}
