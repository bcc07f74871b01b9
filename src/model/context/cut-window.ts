import { isOwn, readToolCalls } from './transcript-row.js'
import type { Perspective, TranscriptRow } from './transcript-row.js'

/** The rest of each tool result, head and tail, when one step alone is larger than the window. */
const CLIPPED_RESULT_BYTES = 4 * 1024

/** How much a context has, or may have. */
export interface WindowSize {
  readonly tokens: number
  readonly rows: number
  readonly bytes: number
}

/** A row of the window with what it costs; 0 tokens if the prompt does not see it. */
export interface WeighedRow {
  readonly row: TranscriptRow
  readonly tokens: number
  readonly bytes: number
}

/** How full a window is: 1 is full to the brim in one respect at least. */
export function fillOf(size: WindowSize, most: WindowSize): number {
  return Math.max(size.tokens / most.tokens, size.rows / most.rows, size.bytes / most.bytes)
}

/** Of rows that stand together. */
export function sizeOf(rows: readonly WeighedRow[]): WindowSize {
  return rows.reduce<WindowSize>(grow, { tokens: 0, rows: 0, bytes: 0 })
}

/**
 * The index of the first row that stays: what follows fills `most`, if possible from the beginning of a turn on, else from
 * that of a step. Never between a call and its results; if even the last step is more, it stays all the same.
 */
export function cutIndex(
  rows: readonly WeighedRow[],
  { most, perspective }: { readonly most: WindowSize; readonly perspective: Perspective },
): number {
  const fills = fillsFrom(rows, most)
  const places = safePlaces(rows)
  const fitting = places.filter((index) => (fills[index] ?? 0) <= 1)
  const beginsTurn = (index: number): boolean => {
    const row = rows[index]?.row
    return row !== undefined && !isOwn(row, perspective)
  }
  // A turn that is much smaller than what may stay would leave out steps for which there is room.
  const turn = fitting.find((index) => beginsTurn(index) && (fills[index] ?? 0) >= 0.5)
  return turn ?? fitting[0] ?? places.at(-1) ?? 0
}

function fillsFrom(rows: readonly WeighedRow[], most: WindowSize): readonly number[] {
  const fills: number[] = []
  let size: WindowSize = { tokens: 0, rows: 0, bytes: 0 }
  for (const row of rows.toReversed()) {
    size = grow(size, row)
    fills.unshift(fillOf(size, most))
  }
  return fills
}

/** Where a context may begin: no call before it has its result behind it. */
function safePlaces(rows: readonly WeighedRow[]): readonly number[] {
  const results = new Set(rows.map(({ row }) => row.tool_call_id))
  const open = new Set<string>()
  const places: number[] = []
  for (const [index, { row }] of rows.entries()) {
    if (open.size === 0 && row.role !== 'tool') places.push(index)
    for (const { id } of readToolCalls(row.tool_calls)) if (results.has(id)) open.add(id)
    if (row.role === 'tool' && row.tool_call_id !== null) open.delete(row.tool_call_id)
  }
  return places
}

function grow(size: WindowSize, { tokens, bytes }: WeighedRow): WindowSize {
  return { tokens: size.tokens + tokens, rows: size.rows + 1, bytes: size.bytes + bytes }
}

/** A tool row of which only head and tail are left; other rows, and short ones, as they are. */
export function clipResult<Row extends TranscriptRow>(row: Row): Row {
  const { role, content } = row
  if (role !== 'tool' || content === null) return row
  const bytes = Buffer.from(content)
  if (bytes.byteLength <= CLIPPED_RESULT_BYTES) return row
  const half = CLIPPED_RESULT_BYTES / 2
  const left = bytes.byteLength - CLIPPED_RESULT_BYTES
  const note = `[… ${left} bytes are left out here …]`
  const [head, tail] = [bytes.subarray(0, half), bytes.subarray(-half)].map((part) =>
    // A character that the cut went through.
    part.toString().replaceAll(/^�+|�+$/g, ''),
  )
  return { ...row, content: `${head}\n\n${note}\n\n${tail}` }
}
