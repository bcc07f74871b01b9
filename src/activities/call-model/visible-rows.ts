import type { PromptContent } from '../../definitions/plan-content.js'
import { withoutOpenCalls } from '../../model/context/tool-calls.js'
import type { TranscriptMessage } from '../../store/message-row.js'

/**
 * The rows that a prompt sees: those of the run at hand always; earlier ones with `includeChat`, and their tool calls
 * and results with `includePastTools`. A nested step has no run of its own (`run` is null), and does not see the calls
 * that wait for it.
 */
export function visibleRows(
  transcript: readonly TranscriptMessage[],
  prompt: Pick<PromptContent, 'includeChat' | 'includePastTools'>,
  run: number | null,
): readonly TranscriptMessage[] {
  // What the runtime says of itself is for people: neither hooks nor models meet it.
  const rows = transcript.filter(({ metadata }) => metadata?.['status_kind'] === undefined)
  const visible =
    prompt.includeChat && prompt.includePastTools
      ? rows
      : rows.flatMap((row) => {
          if (run !== null && row.run === run) return [row]
          if (!prompt.includeChat || (row.role === 'tool' && !prompt.includePastTools)) return []
          return [prompt.includePastTools ? row : { ...row, tool_calls: null }]
        })
  return run === null ? withoutOpenCalls(visible) : visible
}
