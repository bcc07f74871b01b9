import type { Message } from '../../protocol/message.js'
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
