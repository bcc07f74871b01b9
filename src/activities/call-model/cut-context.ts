import type { CallModelInput } from '../../protocol/activities.js'
import { LIMITS } from '../../protocol/limits.js'
import { clipResult } from '../../model/context/clip-result.js'
import { cutIndex, fillOf, sizeOf } from '../../model/context/cut-window.js'
import type { WeighedRow, WindowSize } from '../../model/context/cut-window.js'
import type { Perspective } from '../../model/context/perspective.js'
import type { BoundaryDetail } from '../../store/boundaries.js'
import type { TranscriptMessage } from '../../store/message-row.js'
import { countBefore, readOpening } from '../../store/read-messages.js'
import type { Store } from '../../store/store.js'
import type { ContextWindow } from './read-window.js'

/** A window that fits, and what the next requests have to know to begin alike. */
export interface CutContext {
  readonly opening: TranscriptMessage | null
  readonly rows: readonly TranscriptMessage[]
  /** Null: nothing was cut now. */
  readonly cut: { readonly position: number; readonly detail: Omit<BoundaryDetail, 'cuts'> } | null
}

interface Cutting {
  readonly input: CallModelInput
  readonly window: ContextWindow
  readonly perspective: Perspective
  /** Tokens for the rows. */
  readonly budget: number
  /** How often what would be sent is halved: once for each refusal of the provider. */
  readonly halvings: number
  readonly tokensOf: (row: TranscriptMessage) => number
}

/**
 * Cuts a full window to half; what is not full stays as it is, so that requests share their beginnings up to the next cut
 * (T12). The message that began the run stays with every cut in that run's midst; where one step alone is too large, its
 * results are clipped.
 */
export async function cutContext(store: Store, cutting: Cutting): Promise<CutContext> {
  const { window, perspective, budget, halvings } = cutting
  const weighed = window.rows.map((row) => weigh(cutting, row))
  const all = { tokens: budget, rows: LIMITS.contextRows, bytes: LIMITS.contextBytes }
  const size = sizeOf(weighed)
  const full = halvings === 0 ? all : { ...all, tokens: size.tokens / 2 ** halvings }
  const isFull = window.overflows || fillOf(size, full) > 1
  if (!isFull) return { opening: window.opening, rows: window.rows, cut: null }
  const most = halvings === 0 ? half(full) : full
  const stays = weighed.slice(cutIndex(weighed, { most, perspective }))
  const rows = fillOf(sizeOf(stays), full) > 1 ? clipped(stays) : stays.map(rowOf)
  return concluded(store, cutting, rows)
}

async function concluded(
  store: Store,
  { window, input }: Cutting,
  rows: readonly TranscriptMessage[],
): Promise<CutContext> {
  const position = rows[0]?.position
  const same = position === window.rows[0]?.position && !window.overflows
  const isClipped = rows.some((row) => !window.rows.includes(row))
  // One message is all there is: the provider decides.
  if (position == null || (same && !isClipped)) return { ...window, cut: null }
  const opening = same ? window.opening : await openingOf(store, input, { window, first: rows[0] })
  const newest = rows.at(-1)?.position ?? null
  const { threadId } = input
  const before = await store.read((db) => countBefore(db, threadId, position))
  const detail = {
    opening: opening?.position ?? null,
    clipped: isClipped ? newest : (window.boundary?.detail.clipped ?? null),
    dropped: before - (opening === null ? 0 : 1),
  }
  return { opening, rows, cut: { position, detail } }
}

/** What began the run, if the cut is in that run's midst. */
async function openingOf(
  store: Store,
  { threadId, run }: CallModelInput,
  { window, first }: { readonly window: ContextWindow; readonly first: TranscriptMessage | undefined },
): Promise<TranscriptMessage | null> {
  if (first?.run !== run) return null
  const from = window.boundary?.detail.opening ?? window.boundary?.position ?? 0
  const opening = await store.read((db) => readOpening(db, { threadId, from, run }))
  return (opening?.position ?? Infinity) < (first.position ?? 0) ? opening : null
}

function weigh({ window, tokensOf }: Cutting, row: TranscriptMessage): Weighed {
  return { row, tokens: tokensOf(row), bytes: window.bytes.get(row.position ?? 0) ?? 0 }
}

type Weighed = WeighedRow & { readonly row: TranscriptMessage }

function rowOf({ row }: Weighed): TranscriptMessage {
  return row
}

function clipped(rows: readonly Weighed[]): readonly TranscriptMessage[] {
  return rows.map(({ row }) => clipResult(row))
}

function half({ tokens, rows, bytes }: WindowSize): WindowSize {
  return { tokens: tokens / 2, rows: rows / 2, bytes: bytes / 2 }
}
