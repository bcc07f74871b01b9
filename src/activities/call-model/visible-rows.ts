import type { PromptContent } from '../../definitions/plan-content.js'
import type { TranscriptMessage } from '../../store/message-row.js'

/**
 * The rows that a prompt sees: those of the run at hand always; earlier ones with `includeChat`, and their tool calls
 * and results with `includePastTools`.
 */
export function visibleRows(
  transcript: readonly TranscriptMessage[],
  prompt: Pick<PromptContent, 'includeChat' | 'includePastTools'>,
  run: number,
): readonly TranscriptMessage[] {
  if (prompt.includeChat && prompt.includePastTools) return transcript
  return transcript.flatMap((row) => {
    if (row.run === run) return [row]
    if (!prompt.includeChat || (row.role === 'tool' && !prompt.includePastTools)) return []
    return [prompt.includePastTools ? row : { ...row, tool_calls: null }]
  })
}
