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

/** A row of the window with its cost; 0 tokens if the prompt does not include it. */
export interface WeighedRow {
  readonly row: TranscriptRow
  readonly tokens: number
  readonly bytes: number
}

/** The fill of a window: 1 means that at least one limit is reached. */
export function fillOf(size: WindowSize, most: WindowSize): number {
  return Math.max(size.tokens / most.tokens, size.rows / most.rows, size.bytes / most.bytes)
}

/** The size of adjacent rows together. */
export function sizeOf(rows: readonly WeighedRow[]): WindowSize {
  return rows.reduce<WindowSize>(grow, { tokens: 0, rows: 0, bytes: 0 })
}

/**
 * The index of the first row that stays. The remaining rows fit into `most` and begin with a turn if possible, else with a
 * step, never between a call and its results. The last step stays even if it alone exceeds `most`.
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
  // A turn that is much smaller than the limit would leave out steps for which there is room.
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

/** The indexes at which a context may begin: no earlier call has its result at or after them. */
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

/** Reduces a long tool row to its head and tail; returns other rows, and short ones, unchanged. */
export function clipResult<Row extends TranscriptRow>(row: Row): Row {
  const { role, content } = row
  if (role !== 'tool' || content === null) return row
  const bytes = Buffer.from(content)
  if (bytes.byteLength <= CLIPPED_RESULT_BYTES) return row
  const half = CLIPPED_RESULT_BYTES / 2
  const left = bytes.byteLength - CLIPPED_RESULT_BYTES
  const note = `[… ${left} bytes are left out here …]`
  const [head, tail] = [bytes.subarray(0, half), bytes.subarray(-half)].map((part) =>
    // The cut may have split a character.
    part.toString().replaceAll(/^�+|�+$/g, ''),
  )
  return { ...row, content: `${head}\n\n${note}\n\n${tail}` }
}
