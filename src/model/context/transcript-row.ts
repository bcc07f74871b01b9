import type { Message, ToolCallEntry } from '../../protocol/message.js'
import type { Side } from '../../protocol/plan.js'

/** A row of the transcript, as the assembly of a context reads it. */
export interface TranscriptRow extends Message {
  /** The side whose step made the row; null for a row that a client sent, where the role gives the side. */
  readonly side: Side | null
  /** The run that took or made the row. */
  readonly run: number | null
  /** JSON of `AnswerDetails`; null: the row has no record of its parts. */
  readonly answer_parts: string | null
  /** The sender in the store; null for a row that is not stored. */
  readonly sent_by: string | null
}

/** The empty fields of a row that is not stored. */
export const BLANK_ROW: Omit<TranscriptRow, 'id' | 'role'> = {
  content: null,
  name: null,
  tool_calls: null,
  tool_call_id: null,
  created_at: 0,
  parent_id: null,
  depth: 0,
  silent: false,
  metadata: null,
  status: 'completed',
  tool_status: null,
  attachments: [],
  reasoning_content: null,
  finish_reason: null,
  answer_parts: null,
  sent_by: null,
  prompt: null,
  subagent_id: null,
  position: null,
  side: null,
  run: null,
}

/** The side of the request: its own rows are `assistant`, all others are `user`. */
export interface Perspective {
  readonly type: 'ai_human' | 'dual_ai'
  readonly side: Side
}

/** True if the side of the request wrote the row, or made the call that the row answers. */
export function isOwn(row: TranscriptRow, { type, side }: Perspective): boolean {
  const sideOfRole = row.role === 'user' ? 'b' : 'a'
  return (type === 'ai_human' ? sideOfRole : (row.side ?? sideOfRole)) === side
}

/** The calls of a row; entries that are no calls are skipped. */
export function readToolCalls(json: string | null): readonly ToolCallEntry[] {
  const entries = json === null ? [] : parseJson(json)
  return Array.isArray(entries) ? entries.filter(isToolCallEntry) : []
}

/** The rows without calls that have no result yet. The step in flight has such calls, and its nested steps read it. */
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

/** Undefined for a text that is no JSON: models, hooks and older versions write such texts. */
export function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
