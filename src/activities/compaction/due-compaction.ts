/**
 * When a context is compacted between two runs: some seconds after an answer that has filled it, unless a message comes before.
 * Does not own: what happens then (`between-runs.ts`).
 */
import { betweenRunsId } from '../../protocol/ids.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import { textTokens } from '../../model/context/row-tokens.js'
import type { Reply } from '../turn/candidates.js'
import type { BuiltRequest } from '../turn/model-request.js'
import type { ModelStep } from '../turn/model-step.js'

/** Milliseconds: who answers at once is not kept waiting by a summary that has just begun. */
const IDLE = 3_000

/** The effect that an answer schedules which is the last of its run and has filled the context; none otherwise. */
export function dueCompaction(
  { input, content, prompt }: ModelStep,
  reply: Reply,
  request: BuiltRequest | null,
): readonly ThreadOperation[] {
  if (!('answer' in reply) || reply.answer.toolCalls.length > 0) return []
  // Between runs nothing is compacted for two agents. A nested step is a part of a step.
  if (content.plan.type !== 'ai_human' || input.frame !== null || prompt.compaction === undefined) return []
  const room = request?.room ?? null
  if (room === null || (room.rows >= 1 && room.tokens >= textTokens(reply.answer.text))) return []
  return [{ kind: 'schedule_effect', id: betweenRunsId(input.run, input.step), dueAt: input.now + IDLE }]
}
