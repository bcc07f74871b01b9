/**
 * Old results of tools that a request no longer shows.
 * Owns: which results may be cleared, and the text in their place.
 * Does not own: when they are cleared (`activities/turn/context-window.ts`).
 * Invariant: a call keeps its result, and errors stay as they are.
 */
import type { WeighedRow } from './cut-window.js'
import { textTokens } from './row-tokens.js'
import type { TranscriptRow } from './transcript-row.js'

/** A placeholder is about as long: a shorter result stays. */
const SHORTEST_CLEARED = 256

/** Replaces the text of a result by a note of where it is; returns other rows, errors and short results unchanged. */
export function clearResult<Row extends TranscriptRow>(row: Row): Row {
  if (!isClearable(row)) return row
  const bytes = Buffer.byteLength(row.content ?? '')
  const content = `[This result of ${bytes} bytes is cleared from the context. The whole is message ${row.id} of the transcript.]`
  return { ...row, content }
}

function isClearable({ role, tool_status: status, content }: TranscriptRow): boolean {
  return role === 'tool' && status === 'success' && Buffer.byteLength(content ?? '') > SHORTEST_CLEARED
}

/** Rows with all results cleared but the newest `keep`; null: none of them can be cleared. */
export function clearOldResults<Weighed extends WeighedRow>(
  rows: readonly Weighed[],
  keep: number,
): { readonly rows: readonly Weighed[]; readonly upTo: number } | null {
  const results = rows.filter(({ row }) => row.role === 'tool')
  const old = new Set(results.slice(0, Math.max(0, results.length - keep)))
  const last = [...old].findLast(({ row }) => isClearable(row))?.row.position
  if (last == null) return null
  const cleared = rows.map((weighed) => (old.has(weighed) ? clear(weighed) : weighed))
  return { rows: cleared, upTo: last }
}

function clear<Weighed extends WeighedRow>(weighed: Weighed): Weighed {
  const row = clearResult(weighed.row)
  if (row === weighed.row) return weighed
  const saved = textTokens(weighed.row.content) - textTokens(row.content)
  const bytes =
    weighed.bytes - Buffer.byteLength(weighed.row.content ?? '') + Buffer.byteLength(row.content ?? '')
  return { ...weighed, row, tokens: Math.max(0, weighed.tokens - saved), bytes }
}
