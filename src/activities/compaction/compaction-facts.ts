/** The events of a compaction. */
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import type {
  AffectedMessages,
  CompactionStart,
  CompactionTrigger,
} from '../../protocol/payloads/compaction.js'
import type { NewBoundary } from '../../store/messages/context-boundaries.js'
import type { TranscriptMessage } from '../../store/messages/transcript.js'
import type { Compaction } from '../turn/model-request.js'
import type { ModelStep } from '../turn/model-step.js'

const TRIGGERS: Partial<Record<NewBoundary['kind'], CompactionTrigger>> = {
  window: 'threshold',
  context_length: 'context_length',
  command: 'command',
}

export function startOf({ boundary, leaves }: Pick<Compaction, 'boundary' | 'leaves'>): CompactionStart {
  const trigger = TRIGGERS[boundary.kind] ?? 'threshold'
  return { side: boundary.side, trigger, affected: affectedBy(leaves) }
}

function affectedBy(leaves: readonly TranscriptMessage[]): AffectedMessages {
  const runs = leaves.flatMap(({ run }) => run ?? [])
  return {
    messages: leaves.length,
    from: leaves[0]?.position ?? null,
    to: leaves.at(-1)?.position ?? null,
    firstRun: runs[0] ?? null,
    lastRun: runs.at(-1) ?? null,
  }
}

/** The events of results that are cleared: no model is asked for that. */
export function clearingFacts({ scope, operation }: ModelStep, boundary: NewBoundary): readonly Fact[] {
  const started = startOf({ boundary, leaves: [] })
  const { position, tokensBefore, tokensAfter } = boundary
  const end = { ...started, operation: operation.id, position, next: null, tokensBefore, tokensAfter }
  return [
    fact('context.compaction.started', started, scope),
    fact('context.compaction.completed', { ...end, stage: 'cleared' }, scope),
  ]
}
