import { textDigest } from '../../src/model/context/answer-parts.js'
import type { AnswerDetails, Author } from '../../src/model/context/answer-parts.js'
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
    answer_parts: null,
    sent_by: 'client',
    ...fields,
  }
}

/** The model that the rows of tests are of, as it is asked again. */
export const AUTHOR: Author = {
  prompt: 'desk',
  model: 'chat',
  modelId: 'm',
  includesReasoning: true,
  reasons: true,
}

/** `answer_parts` of an answer of that model. */
export function answerParts(answer: {
  readonly text: string | null
  readonly reasoning?: string | null
  readonly parts: AnswerDetails['parts']
}): string {
  const { text, reasoning = null, parts } = answer
  const { model, modelId } = AUTHOR
  const details = { text: textDigest(text), reasoning: textDigest(reasoning) }
  return JSON.stringify({ model, modelId, ...details, parts } satisfies AnswerDetails)
}
