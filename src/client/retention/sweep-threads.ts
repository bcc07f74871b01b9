import { msToNumber } from '@temporalio/common'
import type { Duration } from '@temporalio/common'
import { ConfigError, TemporalUnavailableError, ThreadError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { sweepBusySessions } from '../../store/limits/busy-sessions.js'
import { sweepRateWindows } from '../../store/limits/rate-windows.js'
import {
  listClosedTrees,
  closedTreeSize,
  sweepBlobs,
  sweepErrors,
  sweepPlans,
} from '../../store/threads/retention.js'
import { endOldCharges } from '../../store/budgets/charges.js'
import type { ClosedTreeCursor } from '../../store/threads/retention.js'
import type { ClientContext } from '../client-context.js'
import { deleteThread } from './delete-thread.js'
import type { KeptHistory } from './delete-thread.js'
import { toMicros } from '../../protocol/time.js'
import type { Millis } from '../../protocol/time.js'

export interface SweepThreads {
  /** Sweeps trees whose threads all closed longer ago than this: milliseconds, or a text such as "90d". */
  readonly closedFor: Duration
  /** Counts, and deletes nothing. @default false */
  readonly dryRun?: boolean
}

/** Counts what a sweep deleted, or would delete. */
export interface SweptThreads {
  /** The number of trees, and of all threads in them. */
  readonly trees: number
  readonly threads: number
  /** The number of file contents that no thread uses any more. */
  readonly blobs: number
  readonly errors: number
  readonly plans: number
  /** The number of requests that ended without giving back what they held of a budget. */
  readonly charges: number
  readonly kept: readonly KeptHistory[]
  /** Trees that could not be deleted; the next sweep tries them again. */
  readonly failed: readonly KeptHistory[]
}

/** After so many failed trees in a row Temporal counts as unavailable, and the sweep goes on with what does not need it. */
const UNAVAILABLE_IN_A_ROW = 3
const PAGE = 100

/** Deletes trees that closed long ago, then what no thread uses any more. An interrupted or concurrent sweep does no harm. */
export async function sweepThreads(
  context: ClientContext,
  { closedFor, dryRun = false }: SweepThreads,
): Promise<SweptThreads> {
  const before = Date.now() - parseClosedFor(closedFor)
  const store = await context.store()
  const trees = await sweepTrees(context, { before, dryRun })
  const sweep = { before, dryRun }
  // Counters, and no content: they are neither counted nor kept.
  if (!dryRun) {
    await sweepRateWindows(store)
    await sweepBusySessions(store)
  }
  return {
    ...trees,
    blobs: await sweepBlobs(store, { before: Date.now() - LIMITS.blobGrace, dryRun }),
    errors: await sweepErrors(store, sweep),
    plans: await sweepPlans(store, sweep),
    charges: dryRun ? 0 : await endOldCharges(store, null),
  }
}

async function sweepTrees(
  context: ClientContext,
  { before, dryRun }: { readonly before: Millis; readonly dryRun: boolean },
): Promise<Pick<SweptThreads, 'trees' | 'threads' | 'kept' | 'failed'>> {
  const store = await context.store()
  const kept: KeptHistory[] = []
  const failed: KeptHistory[] = []
  let [trees, threads, unavailable] = [0, 0, 0]
  let after: ClosedTreeCursor | null = null
  for (;;) {
    const cursor: ClosedTreeCursor | null = after
    const page: readonly ClosedTreeCursor[] = await store.read((db) =>
      listClosedTrees(db, { before: toMicros(before), after: cursor, limit: PAGE }),
    )
    for (const { id } of page) {
      const size = await store.read((db) => closedTreeSize(db, id, toMicros(before)))
      if (size === null) continue
      const problem = dryRun ? null : await deleteTree(context, id, kept)
      unavailable = TemporalUnavailableError.isInstance(problem) ? unavailable + 1 : 0
      if (problem === null) {
        trees += 1
        threads += size
      } else failed.push({ threadId: id, problem: problem.message })
      if (unavailable === UNAVAILABLE_IN_A_ROW) return { trees, threads, kept, failed }
    }
    after = page.at(-1) ?? null
    if (after === null) return { trees, threads, kept, failed }
  }
}

/** Deletes a tree, or returns the error: one tree must not end the retention of all others. */
async function deleteTree(
  context: ClientContext,
  threadId: string,
  kept: KeptHistory[],
): Promise<ThreadError | null> {
  try {
    kept.push(...(await deleteThread(context, threadId)).kept)
    return null
  } catch (error) {
    if (ThreadError.isInstance(error)) return error
    throw error
  }
}

function parseClosedFor(closedFor: Duration): number {
  try {
    const number = msToNumber(closedFor)
    if (Number.isFinite(number) && number >= 0) return number
  } catch {
    // The error below says what was expected.
  }
  throw new ConfigError([
    `Expected "closedFor" to be milliseconds or a text such as "90d", got ${JSON.stringify(closedFor)}.`,
  ])
}
