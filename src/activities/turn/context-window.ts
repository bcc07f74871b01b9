/**
 * The window of the transcript that a request is made of.
 * Owns: reading the rows since the last cut, and cutting a window that is full.
 * Does not own: the weight of a row and the room for it (`model-request.ts`), where a cut may be
 * (`model/context/cut-window.ts`), and when it is stored.
 */
import type { PromptContent } from '../../definitions/plan/plan-content.js'
import { clearOldResults, clearResult } from '../../model/context/cleared-results.js'
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
import type { StoredBudgets } from '../../store/budgets/subjects.js'
import type { Reader, Store } from '../../store/store.js'

/** The rows of the transcript for a request, since the last cut of its window. */
interface ContextWindow {
  readonly budgets: StoredBudgets
  readonly boundary: Boundary | null
  /** The first message of the run within which the window was cut; it precedes the rows. */
  readonly opening: TranscriptMessage | null
  readonly rows: readonly TranscriptMessage[]
  readonly bytes: ReadonlyMap<number, number>
  /** There may be more rows after the boundary than these. */
  readonly overflows: boolean
  /** At most so many rows are in a request, and it begins one later with each; null: it moves in jumps. */
  readonly slides: number | null
}

/**
 * Reads the rows after the last boundary, at most as many as a window holds, so that the cost does not grow with the
 * thread (T6).
 */
export async function readWindow(
  db: Reader,
  { threadId, side, run, frame }: CallModelInput,
  { includeChat, window, compaction }: Pick<PromptContent, 'includeChat' | 'window' | 'compaction'>,
): Promise<ContextWindow> {
  // The request of a nested step without `includeChat` has only its own message.
  if (frame !== null && !includeChat) return NOTHING
  const { boundary, budgets } = await readContextStart(db, threadId, side)
  const transcript: Transcript = { threadId, from: boundary?.position ?? 0, run: includeChat ? null : run }
  const slides = compaction === undefined ? (window?.messages ?? null) : null
  const sizes = await readRowSizes(db, { ...transcript, limit: (slides ?? LIMITS.contextRows) + 1 })
  const read = withinLimits(sizes)
  const from = read.at(-1)?.position
  const rows = from === undefined ? [] : await readRows(db, { ...transcript, from })
  const opening = boundary?.detail.opening ?? null
  const { clipped = null, cleared = null } = boundary?.detail ?? {}
  return {
    budgets,
    boundary,
    opening: opening === null ? null : await findTranscriptRow(db, threadId, opening),
    rows: rows.map((row) => shorten(row, { clipped: clipped ?? 0, cleared: cleared ?? 0 })),
    bytes: new Map(read.map(({ position, bytes }) => [position, bytes])),
    overflows: read.length < sizes.length || sizes.length > LIMITS.contextRows,
    slides,
  }
}

function shorten(
  row: TranscriptMessage,
  { clipped, cleared }: { readonly clipped: number; readonly cleared: number },
): TranscriptMessage {
  const position = row.position ?? Infinity
  const shown = position <= cleared ? clearResult(row) : row
  return position <= clipped ? clipResult(shown) : shown
}

const NOTHING: ContextWindow = {
  budgets: 'unread',
  boundary: null,
  opening: null,
  rows: [],
  bytes: new Map(),
  overflows: false,
  slides: null,
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
  readonly cut: {
    readonly position: number
    readonly detail: Omit<BoundaryDetail, 'cuts'>
    /** `slides`: it is for this request only. `cleared`: nothing is left out, and results are shorter. */
    readonly kind: 'cut' | 'cleared' | 'slides'
  } | null
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
  readonly compaction: Compacting | null
}

/** How a window is compacted. */
interface Compacting {
  /** More rows than these fill it. */
  readonly rows: number
  /** The share of a full window that stays. */
  readonly keep: number
  /** The number of results that are never cleared. */
  readonly keepResults: number
  /** It is compacted even if it is not full. */
  readonly isAsked: boolean
}

/**
 * Cuts a full window to half. A window that is not full stays as it is, so that requests share their beginnings until
 * the next cut (T12). A cut within a run keeps the message that began the run. If one step alone is too large, its
 * results are clipped.
 */
export async function cutContext(store: Store, windowCut: WindowCut): Promise<CutContext> {
  const { window, perspective, budget, halvings, compaction } = windowCut
  const weighed = window.rows.map((row) => weigh(windowCut, row))
  const all = { tokens: budget, rows: compaction?.rows ?? LIMITS.contextRows, bytes: LIMITS.contextBytes }
  const size = sizeOf(weighed)
  const isAsked = compaction?.isAsked === true
  const shares =
    halvings === 0 && !isAsked ? null : { ...all, tokens: size.tokens / 2 ** Math.max(1, halvings) }
  const full = shares ?? all
  const isFull = window.overflows || fillOf(size, full) > 1
  if (!isFull) return slide(store, windowCut, weighed)
  const most = shares ?? scale(full, compaction?.keep ?? 0.5)
  const cleared = shares === null ? clearedContext(windowCut, weighed, most) : null
  if (cleared !== null) return cleared
  const stays = weighed.slice(cutIndex(weighed, { most, perspective }))
  const rows = fillOf(sizeOf(stays), full) > 1 && !isAsked ? clipRows(stays) : stays.map(rowOf)
  return concludeCut(store, windowCut, rows)
}

/** Without its old results the window may have room again; null: it does not. */
function clearedContext(
  { window, compaction }: WindowCut,
  weighed: readonly Weighed[],
  most: WindowSize,
): CutContext | null {
  if (compaction === null || window.overflows) return null
  const cleared = clearOldResults(weighed, compaction.keepResults)
  if (cleared === null || fillOf(sizeOf(cleared.rows), most) > 1) return null
  const { opening, boundary } = window
  const detail = { ...BEGINNING, ...boundary?.detail, cleared: cleared.upTo }
  const cut = { position: boundary?.position ?? 0, detail, kind: 'cleared' } as const
  return { opening, rows: cleared.rows.map(rowOf), cut }
}

const BEGINNING = { opening: null, clipped: null, dropped: 0 } as const

/** A window of so many messages, which holds for this request only. */
async function slide(store: Store, windowCut: WindowCut, weighed: readonly Weighed[]): Promise<CutContext> {
  const { window, perspective } = windowCut
  const { slides, opening, rows } = window
  if (slides === null || rows.length <= slides) return { opening, rows, cut: null }
  const most = { tokens: Infinity, rows: slides, bytes: Infinity }
  const slid = await concludeCut(
    store,
    windowCut,
    weighed.slice(cutIndex(weighed, { most, perspective })).map(rowOf),
  )
  return slid.cut === null ? slid : { ...slid, cut: { ...slid.cut, kind: 'slides' } }
}

async function concludeCut(
  store: Store,
  { window, input, compaction }: WindowCut,
  rows: readonly TranscriptMessage[],
): Promise<CutContext> {
  const position = rows[0]?.position
  const same = position === window.rows[0]?.position && !window.overflows
  const isClipped = rows.some((row) => !window.rows.includes(row))
  // Only one message is left, so the provider decides.
  if (position == null || (same && !isClipped))
    return { ...window, cut: compaction?.isAsked ? unmoved(window) : null }
  const opening = same ? window.opening : await openingOf(store, input, { window, first: rows[0] })
  const newest = rows.at(-1)?.position ?? null
  const { threadId } = input
  const before = await store.read((db) => countBefore(db, threadId, position))
  const detail = {
    opening: opening?.position ?? null,
    clipped: isClipped ? newest : (window.boundary?.detail.clipped ?? null),
    dropped: before - (opening === null ? 0 : 1),
    ...keptOf(window),
  }
  return { opening, rows, cut: { position, detail, kind: 'cut' } }
}

/** What a request for a compaction finds if there is nothing to leave out: it is answered all the same. */
function unmoved({ boundary }: ContextWindow): NonNullable<CutContext['cut']> {
  const { focus: _, ...detail } = boundary?.detail ?? { ...BEGINNING, cuts: 0 }
  return { position: boundary?.position ?? 0, detail, kind: 'cut' }
}

/** A cut without a new summary keeps the old one. */
function keptOf({ boundary }: ContextWindow): Pick<BoundaryDetail, 'cleared' | 'summary'> {
  const { cleared, summary } = boundary?.detail ?? {}
  return { ...(cleared != null && { cleared }), ...(summary != null && { summary }) }
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

function scale({ tokens, rows, bytes }: WindowSize, share: number): WindowSize {
  return { tokens: tokens * share, rows: rows * share, bytes: bytes * share }
}
