import type { Selectable } from 'kysely'
import type { Side } from '../../protocol/plan.js'
import type { BoundariesTable } from '../schema.js'
import type { Reader, Writer } from '../store.js'

/** `window`: it was full. `context_length`: the provider said that it is. */
type BoundaryKind = 'window' | 'context_length'

export interface BoundaryDetail {
  /** Position of the message that began the run in whose midst the cut is: it stays, before the first position. */
  readonly opening: number | null
  /** Tool results up to this position are shown as head and tail. */
  readonly clipped: number | null
  /** Rows of the transcript that are left out. */
  readonly dropped: number
  /** How often the operation that made it had cut by then, after the provider's refusals. */
  readonly cuts: number
}

/** Where the context of a side begins. */
export interface Boundary {
  /** The first position that is still in the context. */
  readonly position: number
  readonly kind: BoundaryKind
  /** The model operation that made it. */
  readonly operation: string
  readonly detail: BoundaryDetail
}

export interface NewBoundary extends Boundary {
  readonly threadId: string
  readonly side: Side
  /** Estimates of the request. */
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly createdAt: number
}

/** The one that holds, or null: everything is in the context. */
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

/** False if it is not beyond the last: a context never grows back, or consecutive requests would share nothing (T12). */
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
  return (boundary.detail.clipped ?? 0) > (last.detail.clipped ?? 0)
}

function boundaryFromRow(row: Selectable<BoundariesTable>): Boundary {
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
