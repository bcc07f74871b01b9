import type { Message, ToolCallEntry } from '../../protocol/message.js'
import type { Side } from '../../protocol/plan.js'

/** A row as the model's context is made of it. */
export interface TranscriptRow extends Message {
  /** The side whose step made it; null for what somebody sent, where the role says who speaks. */
  readonly side: Side | null
  /** The run that took or made it. */
  readonly run: number | null
  /** JSON of `AnswerDetails`; null: nothing is known of its parts. */
  readonly answer_parts: string | null
  /** Who sent it, as the store has it; null for a row that nobody stored. */
  readonly sent_by: string | null
}

/** A row that nobody stored, with nothing in it yet. */
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

/** Who is asked: the side that acts sees its own rows as `assistant` and all others as `user`. */
export interface Perspective {
  readonly type: 'ai_human' | 'dual_ai'
  readonly side: Side
}

/** Whether the side that is asked wrote it, or made the call that it answers. */
export function isOwn(row: TranscriptRow, { type, side }: Perspective): boolean {
  const sideOfRole = row.role === 'user' ? 'b' : 'a'
  return (type === 'ai_human' ? sideOfRole : (row.side ?? sideOfRole)) === side
}

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

/** Undefined for what is no JSON: models, hooks and older versions wrote it. */
export function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
