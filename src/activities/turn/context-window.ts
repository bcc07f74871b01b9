/**
 * The window of the transcript that a request is made of.
 * Owns: reading the rows since the last cut, and cutting a window that is full.
 * Does not own: the weight of a row and the room for it (`model-request.ts`), where a cut may be
 * (`model/context/cut-window.ts`), and when it is stored.
 */
import type { PromptContent } from '../../definitions/plan/plan-content.js'
import { clipResult, cutIndex, fillOf, sizeOf } from '../../model/context/cut-window.js'
import type { WeighedRow, WindowSize } from '../../model/context/cut-window.js'
import type { Perspective } from '../../model/context/transcript-row.js'
import type { CallModelInput } from '../../protocol/activities.js'
import { LIMITS } from '../../protocol/limits.js'
import { readContextStart } from '../../store/messages/context-boundaries.js'
import type { Boundary, BoundaryDetail } from '../../store/messages/context-boundaries.js'
import type { TranscriptMessage, RowSize, Transcript } from '../../store/messages/transcript.js'
import {
  countBefore,
  findTranscriptRow,
  readOpening,
  readRows,
  readRowSizes,
} from '../../store/messages/transcript.js'
import type { Reader, Store } from '../../store/store.js'

/** The rows of the transcript for a request, since the last cut of its window. */
interface ContextWindow {
  /** Whether the store has budgets for the thread. */
  readonly hasBudgets: boolean
  readonly boundary: Boundary | null
  /** The first message of the run within which the window was cut; it precedes the rows. */
  readonly opening: TranscriptMessage | null
  readonly rows: readonly TranscriptMessage[]
  readonly bytes: ReadonlyMap<number, number>
  /** There may be more rows after the boundary than these. */
  readonly overflows: boolean
}

/**
 * Reads the rows after the last boundary, at most as many as a window holds, so that the cost does not grow with the
 * thread (T6).
 */
export async function readWindow(
  db: Reader,
  { threadId, side, run, frame }: CallModelInput,
  { includeChat }: PromptContent,
): Promise<ContextWindow> {
  // The request of a nested step without `includeChat` has only its own message.
  if (frame !== null && !includeChat) return NOTHING
  const { boundary, hasBudgets } = await readContextStart(db, threadId, side)
  const transcript: Transcript = { threadId, from: boundary?.position ?? 0, run: includeChat ? null : run }
  const sizes = await readRowSizes(db, { ...transcript, limit: LIMITS.contextRows + 1 })
  const read = withinLimits(sizes)
  const from = read.at(-1)?.position
  const rows = from === undefined ? [] : await readRows(db, { ...transcript, from })
  const opening = boundary?.detail.opening ?? null
  const clipped = boundary?.detail.clipped ?? 0
  return {
    hasBudgets,
    boundary,
    opening: opening === null ? null : await findTranscriptRow(db, threadId, opening),
    rows: rows.map((row) => ((row.position ?? Infinity) <= clipped ? clipResult(row) : row)),
    bytes: new Map(read.map(({ position, bytes }) => [position, bytes])),
    overflows: read.length < sizes.length || sizes.length > LIMITS.contextRows,
  }
}

const NOTHING: ContextWindow = {
  // Nothing was read, so it may have: the charge looks.
  hasBudgets: true,
  boundary: null,
  opening: null,
  rows: [],
  bytes: new Map(),
  overflows: false,
}

/** The newest rows that fit into the byte limit; always at least one. */
function withinLimits(newestFirst: readonly RowSize[]): readonly RowSize[] {
  let bytes = 0
  const over = newestFirst.findIndex((row, index) => {
    bytes += row.bytes
    return index > 0 && bytes > LIMITS.contextBytes
  })
  return over === -1 ? newestFirst : newestFirst.slice(0, over)
}

/** A window that fits, and the cut with which the next requests begin in the same way. */
interface CutContext {
  readonly opening: TranscriptMessage | null
  readonly rows: readonly TranscriptMessage[]
  /** Null: this request cut nothing. */
  readonly cut: { readonly position: number; readonly detail: Omit<BoundaryDetail, 'cuts'> } | null
}

interface WindowCut {
  readonly input: CallModelInput
  readonly window: ContextWindow
  readonly perspective: Perspective
  /** The tokens that the rows may fill. */
  readonly budget: number
  /** How often the window is halved: once for each refusal of the provider. */
  readonly halvings: number
  readonly tokensOf: (row: TranscriptMessage) => number
}

/**
 * Cuts a full window to half. A window that is not full stays as it is, so that requests share their beginnings until
 * the next cut (T12). A cut within a run keeps the message that began the run. If one step alone is too large, its
 * results are clipped.
 */
export async function cutContext(store: Store, windowCut: WindowCut): Promise<CutContext> {
  const { window, perspective, budget, halvings } = windowCut
  const weighed = window.rows.map((row) => weigh(windowCut, row))
  const all = { tokens: budget, rows: LIMITS.contextRows, bytes: LIMITS.contextBytes }
  const size = sizeOf(weighed)
  const full = halvings === 0 ? all : { ...all, tokens: size.tokens / 2 ** halvings }
  const isFull = window.overflows || fillOf(size, full) > 1
  if (!isFull) return { opening: window.opening, rows: window.rows, cut: null }
  const most = halvings === 0 ? halve(full) : full
  const stays = weighed.slice(cutIndex(weighed, { most, perspective }))
  const rows = fillOf(sizeOf(stays), full) > 1 ? clipRows(stays) : stays.map(rowOf)
  return concludeCut(store, windowCut, rows)
}

async function concludeCut(
  store: Store,
  { window, input }: WindowCut,
  rows: readonly TranscriptMessage[],
): Promise<CutContext> {
  const position = rows[0]?.position
  const same = position === window.rows[0]?.position && !window.overflows
  const isClipped = rows.some((row) => !window.rows.includes(row))
  // Only one message is left, so the provider decides.
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

/** The message that began the run, if the cut is within that run. */
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

function weigh({ window, tokensOf }: WindowCut, row: TranscriptMessage): Weighed {
  return { row, tokens: tokensOf(row), bytes: window.bytes.get(row.position ?? 0) ?? 0 }
}

type Weighed = WeighedRow & { readonly row: TranscriptMessage }

function rowOf({ row }: Weighed): TranscriptMessage {
  return row
}

function clipRows(rows: readonly Weighed[]): readonly TranscriptMessage[] {
  return rows.map(({ row }) => clipResult(row))
}

function halve({ tokens, rows, bytes }: WindowSize): WindowSize {
  return { tokens: tokens / 2, rows: rows / 2, bytes: bytes / 2 }
}
