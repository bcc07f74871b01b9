import { msToNumber } from '@temporalio/common'
import type { Duration } from '@temporalio/common'
import { ConfigError, TemporalUnavailableError, ThreadError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { sweepBusySessions } from '../../store/limits/busy-sessions.js'
import { sweepRateWindows } from '../../store/limits/rate-windows.js'
import {
  MAY_BE_INACTIVE,
  endInactive,
  closedTreeSize,
  isInactive,
  listArchivedSessions,
  listClosedTrees,
  listQuietSessions,
  sweepBlobs,
  sweepErrors,
  sweepPlans,
} from '../../store/threads/retention.js'
import { endOldCharges } from '../../store/budgets/charges.js'
import type { ClosedTreeCursor, SessionPlace } from '../../store/threads/retention.js'
import type { Reader, Store } from '../../store/store.js'
import { countTree } from '../../store/threads/sessions.js'
import { findThread } from '../../store/threads/threads.js'
import type { ClientContext } from '../client-context.js'
import { terminateThread } from '../terminate-thread.js'
import { deleteThread } from './delete-thread.js'
import type { KeptHistory } from './delete-thread.js'
import { toMicros } from '../../protocol/time.js'
import type { Micros, Millis } from '../../protocol/time.js'

export interface SweepThreads {
  /**
   * Deletes trees whose threads all closed longer ago than this: milliseconds, or a text such as "90d". Archived ones have a time of
   * their own. @default '90d' if none of the three times is given
   */
  readonly closedFor?: Duration
  /** Deletes sessions that were archived longer ago than this, also open ones. @default none */
  readonly archivedFor?: Duration
  /**
   * Ends sessions without any activity for longer than this, such as "24h": they become `abandoned`, unless they have completed or failed. One of which something runs, waits to
   * run or is scheduled, with a request that ends by itself later, or that a person has taken over, is left alone. Alone it deletes
   * nothing. @default none
   */
  readonly inactiveFor?: Duration
  /** The time of the sweep, in milliseconds since 1970. @default now */
  readonly now?: Millis
  /** Counts, and changes nothing. @default false */
  readonly dryRun?: boolean
}

/** Counts what a sweep deleted or ended, or would. */
export interface SweptThreads {
  /** The number of trees that were deleted, and of all threads in them. */
  readonly trees: number
  readonly threads: number
  /** The number of sessions that were ended because nobody used them. */
  readonly ended: number
  /** The number of file contents that no thread uses any more. */
  readonly blobs: number
  readonly errors: number
  readonly plans: number
  /** The number of requests that ended without giving back what they held of a budget. */
  readonly charges: number
  readonly kept: readonly KeptHistory[]
  /** Trees that could not be deleted or ended; the next sweep tries them again. */
  readonly failed: readonly KeptHistory[]
}

/** After so many failed trees in a row Temporal or its workers count as unavailable, and the sweep goes on with what does not need them. */
const UNAVAILABLE_IN_A_ROW = 3
const PAGE = 100
const RETENTION = '90d'

/**
 * Ends what nobody uses, deletes what closed or was archived long ago, then what no thread uses any more. An interrupted or
 * concurrent sweep does no harm.
 */
export async function sweepThreads(
  context: ClientContext,
  options: SweepThreads = {},
): Promise<SweptThreads> {
  const { dryRun = false, now = Date.now() } = options
  if (!Number.isSafeInteger(now))
    throw new ConfigError([`Expected "now" to be milliseconds since 1970, got ${JSON.stringify(now)}.`])
  const before = timesOf(options, now)
  const store = await context.store()
  const idle =
    before.inactive === null ? NONE : await endSessions(context, { before: before.inactive, now, dryRun })
  const deletions = [
    ...(before.closed === null ? [] : [closedTrees(store, toMicros(before.closed))]),
    ...(before.archived === null ? [] : [archivedTrees(store, toMicros(before.archived))]),
  ]
  const swept: Deletion['swept'] = { trees: 0, threads: 0, kept: [], failed: [...idle.failed] }
  for (const trees of deletions) await deleteTrees(context, { trees, dryRun, swept })
  const kept = before.closed ?? before.archived
  const rest = kept === null ? NOTHING : await sweepRest(store, { before: kept, dryRun })
  return { ...swept, ended: idle.ended, ...rest }
}

type Rest = Pick<SweptThreads, 'blobs' | 'errors' | 'plans' | 'charges'>

const NOTHING: Rest = { blobs: 0, errors: 0, plans: 0, charges: 0 }

/** Deletes what no thread uses any more, which looks at all of it: not where only sessions are ended. */
async function sweepRest(
  store: Store,
  sweep: { readonly before: Millis; readonly dryRun: boolean },
): Promise<Rest> {
  const { dryRun } = sweep
  // Counters, and no content: they are neither counted nor kept.
  if (!dryRun) {
    await sweepRateWindows(store)
    await sweepBusySessions(store)
  }
  return {
    blobs: await sweepBlobs(store, { before: Date.now() - LIMITS.blobGrace, dryRun }),
    errors: await sweepErrors(store, sweep),
    plans: await sweepPlans(store, sweep),
    charges: dryRun ? 0 : await endOldCharges(store, null),
  }
}

interface Times {
  readonly closed: Millis | null
  readonly archived: Millis | null
  readonly inactive: Millis | null
}

/** Whether each of the times can be read. @throws ConfigError */
export function checkSweep(options: SweepThreads): void {
  timesOf(options, 0)
}

/** @throws ConfigError */
function timesOf({ closedFor, archivedFor, inactiveFor }: SweepThreads, now: Millis): Times {
  const isBare = closedFor === undefined && archivedFor === undefined && inactiveFor === undefined
  const timeOf = (name: string, given: Duration | undefined): Millis | null =>
    given === undefined ? null : now - parseTime(name, given)
  return {
    closed: timeOf('closedFor', isBare ? RETENTION : closedFor),
    archived: timeOf('archivedFor', archivedFor),
    inactive: timeOf('inactiveFor', inactiveFor),
  }
}

interface Ended {
  readonly ended: number
  readonly failed: readonly KeptHistory[]
}

const NONE: Ended = { ended: 0, failed: [] }

interface Inactive {
  readonly before: Millis
  readonly now: Millis
  readonly dryRun: boolean
}

/** Ends sessions that nobody uses: the row first, which decides, then the workflow. A child is never ended alone. */
async function endSessions(context: ClientContext, { before, now, dryRun }: Inactive): Promise<Ended> {
  const store = await context.store()
  const failed: KeptHistory[] = []
  let ended = 0
  for (const own of MAY_BE_INACTIVE) {
    const page = (db: Reader, after: SessionPlace | null) =>
      listQuietSessions(db, { before: toMicros(before), after, limit: PAGE, own })
    for await (const { id: sessionId } of pagesOf(store, page)) {
      const inactivity = { sessionId, before: toMicros(before), now: toMicros(now) }
      const ends = dryRun
        ? await store.read((db) => isInactive(db, inactivity))
        : await store.write((tx) => endInactive(tx, inactivity))
      if (!ends) continue
      const problem = dryRun ? null : await problemOf(() => terminateThread(context, { threadId: sessionId }))
      if (problem === null) ended += 1
      else failed.push({ threadId: sessionId, problem: problem.message })
      if (failed.length === UNAVAILABLE_IN_A_ROW && ended === 0) return { ended, failed }
    }
  }
  return { ended, failed }
}

/** All rows of a list, a page at a time. */
async function* pagesOf<Row>(
  store: Store,
  read: (db: Reader, after: Row | null) => Promise<readonly Row[]>,
): AsyncGenerator<Row, void, undefined> {
  for (let after: Row | null = null; ;) {
    const place: Row | null = after
    const page: readonly Row[] = await store.read((db) => read(db, place))
    yield* page
    after = page.at(-1) ?? null
    if (after === null) return
  }
}

/** A tree that is to be deleted, with the number of its threads. */
interface OldTree {
  readonly id: string
  readonly size: number
  /** An archived session may be open. */
  readonly terminate: boolean
  /** Asked before it is deleted: the list may be minutes old. */
  readonly isStillOld: () => Promise<boolean>
}

async function* closedTrees(store: Store, before: Micros): AsyncGenerator<OldTree, void, undefined> {
  const page = (db: Reader, after: ClosedTreeCursor | null) =>
    listClosedTrees(db, { before, after, limit: PAGE })
  for await (const { id } of pagesOf(store, page)) {
    const sizeOf = () => store.read((db) => closedTreeSize(db, id, before))
    const size = await sizeOf()
    if (size !== null) yield { id, size, terminate: false, isStillOld: async () => (await sizeOf()) !== null }
  }
}

async function* archivedTrees(store: Store, before: Micros): AsyncGenerator<OldTree, void, undefined> {
  const page = (db: Reader, after: SessionPlace | null) =>
    listArchivedSessions(db, { before, after, limit: PAGE })
  for await (const { id } of pagesOf(store, page))
    yield {
      id,
      size: await store.read((db) => countTree(db, id)),
      terminate: true,
      isStillOld: async () => {
        const root = await store.read((db) => findThread(db, id))
        // One whose deletion has begun is finished.
        return root !== null && root.archived_at !== null && root.archived_at < before
      },
    }
}

interface Deletion {
  readonly trees: AsyncIterable<OldTree>
  readonly dryRun: boolean
  readonly swept: { trees: number; threads: number; kept: KeptHistory[]; failed: KeptHistory[] }
}

async function deleteTrees(context: ClientContext, { trees, dryRun, swept }: Deletion): Promise<void> {
  let unavailable = 0
  for await (const { id, size, terminate, isStillOld } of trees) {
    const problem = dryRun
      ? null
      : await problemOf(async () => {
          if (await isStillOld()) swept.kept.push(...(await deleteThread(context, id, { terminate })).kept)
        })
    // An open tree that no worker closes is refused after a minute.
    const isAway = TemporalUnavailableError.isInstance(problem) || (terminate && problem !== null)
    unavailable = isAway ? unavailable + 1 : 0
    if (problem === null) {
      swept.trees += 1
      swept.threads += size
    } else swept.failed.push({ threadId: id, problem: problem.message })
    if (unavailable === UNAVAILABLE_IN_A_ROW) return
  }
}

/** The error of work on one tree, which must not end the sweep of all others. */
async function problemOf(work: () => Promise<void>): Promise<ThreadError | null> {
  try {
    await work()
    return null
  } catch (error) {
    if (ThreadError.isInstance(error)) return error
    throw error
  }
}

/** Milliseconds. @throws ConfigError */
export function parseTime(name: string, given: Duration): number {
  try {
    const number = msToNumber(given)
    if (Number.isFinite(number) && number >= 0) return number
  } catch {
    // The error below says what was expected.
  }
  throw new ConfigError([
    `Expected "${name}" to be milliseconds or a text such as "90d", got ${JSON.stringify(given)}.`,
  ])
}
