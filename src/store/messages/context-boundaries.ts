import type { Selectable } from 'kysely'
import type { Side } from '../../protocol/plan.js'
import { BUDGET_COLUMNS } from '../budgets/subjects.js'
import type { StoredBudgets } from '../budgets/subjects.js'
import type { Schema } from '../schema.js'
import type { Reader, Writer } from '../store.js'
import type { Micros } from '../../protocol/time.js'

/**
 * `window`: the context window was full. `context_length`: the provider refused the request as too long. `command`: a person asked for it.
 * `cleared`: old results of tools were cleared. `request`: it moves nothing, and asks for a compaction.
 */
export type BoundaryKind = 'window' | 'context_length' | 'command' | 'cleared' | 'request'

export interface BoundaryDetail {
  /** Position of the message that began the run, if the boundary lies within a run: it stays in the context. */
  readonly opening: number | null
  /** Tool results up to this position are reduced to head and tail. */
  readonly clipped: number | null
  /** The number of messages that are left out. */
  readonly dropped: number
  /** How often its operation had moved the boundary by then, after refusals of the provider. */
  readonly cuts: number
  /** Results of tools up to this position are cleared; left out: none. */
  readonly cleared?: number | null
  /** What a model wrote about the messages that are left out; null: nothing. */
  readonly summary?: string | null
  /** Of a `request`: what the summary must keep; null: nothing in particular. */
  readonly focus?: string | null
}

/** The beginning of the context of a side. */
export interface Boundary {
  /** The first position that is still in the context; 0: the beginning. */
  readonly position: number
  readonly kind: BoundaryKind
  /** The model operation that set it. */
  readonly operation: string
  readonly detail: BoundaryDetail
}

export interface NewBoundary extends Boundary {
  readonly threadId: string
  readonly side: Side
  /** Estimated tokens of the request. */
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly createdAt: Micros
}

/** Where the context of a side begins, and the budgets that the store has for the thread, in one statement. */
export async function readContextStart(
  db: Reader,
  threadId: string,
  side: Side,
): Promise<{ readonly boundary: Boundary | null; readonly budgets: StoredBudgets }> {
  const row = await db
    .selectFrom('threads')
    .leftJoin('boundaries', (join) =>
      join.on('boundaries.id', '=', (boundary) =>
        boundary
          .selectFrom('boundaries as last')
          .select('last.id')
          .whereRef('last.thread_id', '=', 'threads.id')
          .where('last.side', '=', side)
          .orderBy('last.id', 'desc')
          .limit(1),
      ),
    )
    .select(['boundaries.position', 'boundaries.kind', 'boundaries.operation', 'boundaries.detail'])
    .select(BUDGET_COLUMNS)
    .where('threads.id', '=', threadId)
    .executeTakeFirst()
  const { position = null, kind = null, operation = null, detail = null } = row ?? {}
  const boundary =
    position === null || kind === null || operation === null
      ? null
      : boundaryFromRow({ position, kind, operation, detail })
  return { boundary, budgets: row ?? 'unread' }
}

/** The current boundary; null: the whole transcript is in the context. */
export async function lastBoundary(db: Reader, threadId: string, side: Side): Promise<Boundary | null> {
  const row = await db
    .selectFrom('boundaries')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('side', '=', side)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : boundaryFromRow(row)
}

/** A cut of the context, as it was made. */
export interface RecordedBoundary extends Boundary {
  readonly side: Side
  readonly tokensBefore: number | null
  readonly tokensAfter: number | null
  readonly createdAt: Micros
}

/** The newest boundaries of both sides, the newest first. */
export async function listBoundaries(
  db: Reader,
  threadId: string,
  limit: number,
): Promise<readonly RecordedBoundary[]> {
  const rows = await db
    .selectFrom('boundaries')
    .selectAll()
    .where('thread_id', '=', threadId)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return rows.map((row) => ({
    ...boundaryFromRow(row),
    // Written by `insertBoundary`: the store's boundary.
    side: row.side as Side,
    tokensBefore: row.tokens_before,
    tokensAfter: row.tokens_after,
    createdAt: row.created_at,
  }))
}

/** Returns false if it is not beyond the last one: a boundary never moves back, so that consecutive requests share a prefix (T12). */
export async function insertBoundary(tx: Writer, boundary: NewBoundary): Promise<boolean> {
  const { threadId, side, position, kind, operation, detail } = boundary
  const last = await lastBoundary(tx, threadId, side)
  if (last !== null && !isBeyond(boundary, last)) return false
  await tx
    .insertInto('boundaries')
    .values({
      thread_id: threadId,
      side,
      position,
      kind,
      operation,
      tokens_before: boundary.tokensBefore,
      tokens_after: boundary.tokensAfter,
      detail: JSON.stringify(detail),
      created_at: boundary.createdAt,
    })
    .execute()
  return true
}

function isBeyond(boundary: Boundary, last: Boundary): boolean {
  if (boundary.position !== last.position) return boundary.position > last.position
  // The answer to a request may be that there is nothing to leave out.
  if (last.kind === 'request') return true
  const [now, before] = [boundary.detail, last.detail]
  return (now.clipped ?? 0) > (before.clipped ?? 0) || (now.cleared ?? 0) > (before.cleared ?? 0)
}

/** Asks for a compaction of a side. Returns false if the same was asked before, or another one still waits. */
export async function requestCompaction(
  tx: Writer,
  { threadId, side, id, focus, now }: CompactionRequest,
): Promise<boolean> {
  const operation = `compact_${id}`
  const [last, known] = await Promise.all([
    lastBoundary(tx, threadId, side),
    tx
      .selectFrom('boundaries')
      .select('id')
      .where('thread_id', '=', threadId)
      .where('side', '=', side)
      .where('operation', '=', operation)
      .executeTakeFirst(),
  ])
  if (known !== undefined || last?.kind === 'request') return false
  const detail: BoundaryDetail = { opening: null, clipped: null, dropped: 0, ...last?.detail, cuts: 0, focus }
  await tx
    .insertInto('boundaries')
    .values({
      ...{ thread_id: threadId, side, position: last?.position ?? 0, kind: 'request', operation },
      ...{ tokens_before: null, tokens_after: null, detail: JSON.stringify(detail), created_at: now },
    })
    .execute()
  return true
}

interface CompactionRequest {
  readonly threadId: string
  readonly side: Side
  /** The caller's key. */
  readonly id: string
  readonly focus: string | null
  readonly now: Micros
}

type Row = Pick<Selectable<Schema['boundaries']>, 'position' | 'kind' | 'operation' | 'detail'>

function boundaryFromRow(row: Row): Boundary {
  const { position, kind, operation, detail } = row
  // Written by `insertBoundary`: the store's boundary.
  const kept = JSON.parse(detail ?? '{}') as Partial<BoundaryDetail>
  return {
    position,
    kind: kind as BoundaryKind,
    operation,
    detail: { opening: null, clipped: null, dropped: 0, cuts: 0, ...kept },
  }
}
