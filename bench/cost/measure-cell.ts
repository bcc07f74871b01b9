import { devServerTuning } from '../../test/support/temporal-server-files.js'
import { registerNamespace } from '../../test/support/temporal-namespace.js'
import type { BenchServers } from '../bench-servers.js'
import type { Bundle } from '../bundles.js'
import { inTurns } from '../in-turns.js'
import { isThreadLoop, namespaceOf, secondsOf } from './cells.js'
import type { Cell } from './cells.js'
import { measurePeer } from './measure-peer.js'
import { measureThread } from './measure-thread.js'
import type { Actions } from './server-actions.js'

/** Cells at a time: those with long models wait, and a worker of each has to fit on the machine. */
const AT_ONCE = 8

/** What the turns of a cell were, and what they left behind. */
export interface MeasuredCell {
  readonly cell: Cell
  /** Tool calls that ended. */
  readonly done: number
  readonly modelCalls: number
  /** From the start of the thread or workflow on, waiting included. */
  readonly actions: Actions
  /** Of all Temporal runs, by the server's count. */
  readonly events: number
  readonly bytes: number
  /** How the turns ended, and whether their text was read to its end. */
  readonly end: string
}

export interface CostBench {
  readonly servers: BenchServers
  /** Of the server's counters. */
  readonly metrics: string
  /** Of our threads. */
  readonly bundle: Bundle
  /** Where the peers are installed. */
  readonly folder: string
}

/** Each has a namespace with our search attributes, which counts nothing yet. */
export async function registerNamespaces({ address }: BenchServers, cells: readonly Cell[]): Promise<void> {
  const { searchAttributes } = devServerTuning()
  for (const cell of cells)
    await registerNamespace(address, { namespace: namespaceOf(cell), searchAttributes })
}

/** Measures all cells, those that take longest first, so that their models wait at the same time; in the order given. */
export async function measureCells(
  bench: CostBench,
  cells: readonly Cell[],
): Promise<readonly MeasuredCell[]> {
  const longest = cells.toSorted((one, other) => secondsOf(other) - secondsOf(one))
  const all = { count: cells.length, atOnce: AT_ONCE }
  const measured = new Map<Cell, MeasuredCell>()
  await inTurns(all, async (n) => {
    const cell = longest[n]
    if (cell !== undefined) measured.set(cell, await measureCell(bench, cell))
  })
  return cells.flatMap((cell) => measured.get(cell) ?? [])
}

function measureCell(bench: CostBench, cell: Cell): Promise<MeasuredCell> {
  const { loop } = cell
  return isThreadLoop(loop) ? measureThread(bench, { ...cell, loop }) : measurePeer(bench, { ...cell, loop })
}
