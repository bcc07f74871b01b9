import type { CallModelInput } from '../../protocol/activities.js'
import { LIMITS } from '../../protocol/limits.js'
import type { PromptContent } from '../../definitions/plan-content.js'
import { clipResult } from '../../model/context/clip-result.js'
import { lastBoundary } from '../../store/boundaries.js'
import type { Boundary } from '../../store/boundaries.js'
import type { TranscriptMessage } from '../../store/message-row.js'
import { findTranscriptRow, readRowSizes, readRows } from '../../store/read-messages.js'
import type { RowSize, Transcript } from '../../store/read-messages.js'
import type { Reader } from '../../store/store.js'

/** The rows of the transcript that a request is made of, as its window was cut last. */
export interface ContextWindow {
  readonly boundary: Boundary | null
  /** Of the run in whose midst the window was cut; it stands before the rows. */
  readonly opening: TranscriptMessage | null
  readonly rows: readonly TranscriptMessage[]
  readonly bytes: ReadonlyMap<number, number>
  /** There may be more rows behind the boundary than were read. */
  readonly overflows: boolean
}

/** Reads what is behind the last boundary, at most what a window holds: its cost does not grow with the thread (T6). */
export async function readWindow(
  db: Reader,
  { threadId, side, run, frame }: CallModelInput,
  { includeChat }: PromptContent,
): Promise<ContextWindow> {
  // A nested step without the conversation has its own message only.
  if (frame !== null && !includeChat) return NOTHING
  const boundary = await lastBoundary(db, threadId, side)
  const transcript: Transcript = { threadId, from: boundary?.position ?? 0, run: includeChat ? null : run }
  const sizes = await readRowSizes(db, { ...transcript, limit: LIMITS.contextRows + 1 })
  const read = withinLimits(sizes)
  const from = read.at(-1)?.position
  const rows = from === undefined ? [] : await readRows(db, { ...transcript, from })
  const opening = boundary?.detail.opening ?? null
  const clipped = boundary?.detail.clipped ?? 0
  return {
    boundary,
    opening: opening === null ? null : await findTranscriptRow(db, threadId, opening),
    rows: rows.map((row) => ((row.position ?? Infinity) <= clipped ? clipResult(row) : row)),
    bytes: new Map(read.map(({ position, bytes }) => [position, bytes])),
    overflows: read.length < sizes.length || sizes.length > LIMITS.contextRows,
  }
}

const NOTHING: ContextWindow = {
  boundary: null,
  opening: null,
  rows: [],
  bytes: new Map(),
  overflows: false,
}

/** The newest of them that can be read whole; the newest one always. */
function withinLimits(newestFirst: readonly RowSize[]): readonly RowSize[] {
  let bytes = 0
  const over = newestFirst.findIndex((row, index) => {
    bytes += row.bytes
    return index > 0 && bytes > LIMITS.contextBytes
  })
  return over === -1 ? newestFirst : newestFirst.slice(0, over)
}
