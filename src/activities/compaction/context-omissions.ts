/**
 * What a request leaves out, and from when on.
 * Owns: the settings of a compaction, who may read a summary, and the omissions of a request by name.
 * Does not own: the cut (`turn/context-window.ts`), and its commit (`compact.ts`).
 */
import type { PromptContent } from '../../definitions/plan/plan-content.js'
import type { TranscriptRow } from '../../model/context/transcript-row.js'
import type { CallModelInput } from '../../protocol/activities.js'
import type { ContextManifest } from '../../protocol/event-codes.js'
import { LIMITS } from '../../protocol/limits.js'
import type { ContextOmission } from '../../protocol/payloads/compaction.js'
import type { cutContext, readWindow } from '../turn/context-window.js'

interface RequestOfSide {
  readonly input: Pick<CallModelInput, 'frame'>
  readonly prompt: PromptContent
  readonly model: string
}

interface CutWindow {
  readonly window: Awaited<ReturnType<typeof readWindow>>
  readonly cut: Awaited<ReturnType<typeof cutContext>>
}

/** Share of the model's window that may be filled before the history is cut to half. */
export const CONTEXT_SHARE = 0.8

/** The newest results of tools that are not cleared: a model works with those of its last steps. */
const KEPT_RESULTS = 3

/** How the window of the side is compacted; null: it is only cut. */
export function compactionOf({ input, prompt, model }: RequestOfSide, { boundary }: CutWindow['window']) {
  const isOfSide = model === prompt.model && input.frame === null && prompt.includeChat
  const isAsked = isOfSide && boundary?.kind === 'request'
  if (prompt.compaction === undefined && !isAsked) return null
  const { threshold = CONTEXT_SHARE, keep = 0.5, keepResults = KEPT_RESULTS } = prompt.compaction ?? {}
  const most = prompt.window?.messages
  // It starts with the message that reaches the share: the 32nd of 40.
  const rows = most === undefined ? LIMITS.contextRows : Math.max(1, Math.ceil(most * threshold) - 1)
  return { rows, keep, keepResults, isAsked }
}

/** The summary that the request has: only prompts that see the conversation may read it. */
export function summaryOf(
  { prompt }: { readonly prompt: Pick<PromptContent, 'includeChat'> },
  { window, cut }: CutWindow,
): string | null {
  return prompt.includeChat ? ((cut.cut ?? window.boundary)?.detail.summary ?? null) : null
}

export function omissionsOf(
  rows: readonly TranscriptRow[],
  { window, cut, summary }: CutWindow & { readonly summary: string | null },
): Pick<ContextManifest, 'refs' | 'omissions'> {
  const boundary = cut.cut ?? window.boundary
  if (boundary === null) return {}
  const { position, detail } = boundary
  const omissions: readonly (ContextOmission | null)[] = [
    detail.dropped === 0
      ? null
      : {
          kind: summary === null ? 'older_messages' : 'summarized_messages',
          position,
          count: detail.dropped,
        },
    detail.cleared == null ? null : { kind: 'cleared_results', position: detail.cleared },
    detail.clipped == null ? null : { kind: 'clipped_results', position: detail.clipped },
  ]
  const named = omissions.filter((omission) => omission !== null)
  if (named.length === 0) return {}
  const stay = rows.filter(({ position: at }) => at !== null && at >= position)
  const opening = cut.opening === null ? {} : { opening: cut.opening.id }
  const refs = { first: stay[0]?.id ?? null, last: stay.at(-1)?.id ?? null, ...opening, boundary: position }
  return { refs, omissions: named }
}
