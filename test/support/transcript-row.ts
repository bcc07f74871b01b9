import type { TranscriptRow } from '../../src/model/context/transcript-row.js'

/** A completed, empty row of a person, changed by `fields`. */
export function transcriptRow(fields: Partial<TranscriptRow>): TranscriptRow {
  return {
    id: 'message',
    role: 'user',
    content: null,
    name: null,
    tool_calls: null,
    tool_call_id: null,
    created_at: 1,
    parent_id: null,
    depth: 0,
    silent: false,
    metadata: null,
    status: 'completed',
    tool_status: null,
    attachments: [],
    reasoning_content: null,
    finish_reason: null,
    prompt: null,
    subagent_id: null,
    position: 1,
    side: null,
    run: null,
    reasoning_details: null,
    sent_by: 'client',
    ...fields,
  }
}
