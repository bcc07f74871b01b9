import { msToNumber } from '@temporalio/common'
import type { Duration } from '@temporalio/common'

import { ConfigError } from '../../protocol/config-error.js'
import { LIMITS } from '../../protocol/limits.js'
import { closedTops, closedTreeSize } from '../../store/retention/closed-trees.js'
import type { ClosedTreeCursor } from '../../store/retention/closed-trees.js'
import { sweepBlobs, sweepErrors, sweepPlans } from '../../store/retention/sweep-leftovers.js'
import type { ClientContext } from '../client-context.js'
import { deleteThread } from './delete-thread.js'
import type { KeptHistory } from './delete-thread.js'

export interface SweepThreads {
  /** Trees of which all threads closed longer ago than this: milliseconds, or a text such as "90d". */
  readonly closedFor: Duration
  /** Counts only. @default false */
  readonly dryRun?: boolean
}

/** What a sweep deleted, or would delete. */
export interface SweptThreads {
  /** Trees, and all threads in them. */
  readonly trees: number
  readonly threads: number
  /** Contents of files that no thread has any more. */
  readonly blobs: number
  readonly errors: number
  readonly plans: number
  readonly kept: readonly KeptHistory[]
}

const PAGE = 100

/** Deletes trees that closed long ago, then what no thread uses any more. Cut off, or done twice at once, it does no harm. */
export async function sweepThreads(
  context: ClientContext,
  { closedFor, dryRun = false }: SweepThreads,
): Promise<SweptThreads> {
  const before = Date.now() - closedForOf(closedFor)
  const store = await context.store()
  const trees = await sweepTrees(context, { before, dryRun })
  const sweep = { before, dryRun }
  return {
    ...trees,
    blobs: await sweepBlobs(store, { before: Date.now() - LIMITS.blobGrace, dryRun }),
    errors: await sweepErrors(store, sweep),
    plans: await sweepPlans(store, sweep),
  }
}

async function sweepTrees(
  context: ClientContext,
  { before, dryRun }: { readonly before: number; readonly dryRun: boolean },
): Promise<Pick<SweptThreads, 'trees' | 'threads' | 'kept'>> {
  const store = await context.store()
  const kept: KeptHistory[] = []
  let [trees, threads] = [0, 0]
  let after: ClosedTreeCursor | null = null
  for (;;) {
    const cursor: ClosedTreeCursor | null = after
    const page: readonly ClosedTreeCursor[] = await store.read((db) =>
      closedTops(db, { before: before * 1000, after: cursor, limit: PAGE }),
    )
    for (const { id } of page) {
      const size = await store.read((db) => closedTreeSize(db, id, before * 1000))
      if (size === null) continue
      if (!dryRun) kept.push(...(await deleteThread(context, id)).kept)
      trees += 1
      threads += size
    }
    after = page.at(-1) ?? null
    if (after === null) return { trees, threads, kept }
  }
}

function closedForOf(closedFor: Duration): number {
  try {
    const number = msToNumber(closedFor)
    if (Number.isFinite(number) && number >= 0) return number
  } catch {
    // The sentence below says it.
  }
  throw new ConfigError([
    `Expected "closedFor" to be milliseconds or a text such as "90d", got ${JSON.stringify(closedFor)}.`,
  ])
}
