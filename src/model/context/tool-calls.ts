import type { ToolCallEntry } from '../../protocol/message.js'
import { parseJson } from './parse-json.js'
import type { TranscriptRow } from './transcript-row.js'

/** The calls that a row holds; what is no call is passed over. */
export function readToolCalls(json: string | null): readonly ToolCallEntry[] {
  const entries = json === null ? [] : parseJson(json)
  return Array.isArray(entries) ? entries.filter(isToolCallEntry) : []
}

/** The rows without the calls that have no result yet: those of the step in flight, as its nested steps see it. */
export function withoutOpenCalls<Row extends TranscriptRow>(rows: readonly Row[]): readonly Row[] {
  const answered = new Set(rows.map((row) => row.tool_call_id))
  return rows.map((row) => {
    const calls = readToolCalls(row.tool_calls)
    const kept = calls.filter(({ id }) => answered.has(id))
    return kept.length === calls.length ? row : { ...row, tool_calls: JSON.stringify(kept) }
  })
}

function isToolCallEntry(value: unknown): value is ToolCallEntry {
  if (typeof value !== 'object' || value === null) return false
  const { id, function: call } = value as Partial<ToolCallEntry>
  return typeof id === 'string' && typeof call?.name === 'string' && typeof call.arguments === 'string'
}
