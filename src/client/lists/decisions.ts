/** What was decided about the calls of a thread: the record that each executed, denied or waiting call has. */
import { ConfigError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { runIdOf, stepIdOf } from '../../protocol/ids.js'
import type { PermissionDecision } from '../../policy/judge.js'
import { listDecidedCalls } from '../../store/calls/tool-calls.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'

/** The decision about one call of a tool, an agent or a prompt. */
export interface RecordedDecision extends PermissionDecision {
  readonly toolCallId: string
  /** The name that was called. */
  readonly toolName: string
  readonly runId: string
  readonly stepId: string
  /** When the call began, in microseconds since 1970; null: it did not begin. */
  readonly startedAt: number | null
}

/** The decisions of a thread that `decisions()` returns. */
export interface DecisionsOptions {
  /** Only that about the call with this id. */
  readonly toolCallId?: string
  /** At most so many, the newest ones; at most 500. @default 100 */
  readonly limit?: number
}

/** Lists the newest decisions of a thread, the oldest of them first. @throws ThreadNotFoundError */
export async function listDecisions(
  context: ClientContext,
  threadId: string,
  { toolCallId, limit = 100 }: DecisionsOptions,
): Promise<readonly RecordedDecision[]> {
  if (!Number.isInteger(limit) || limit < 1)
    throw new ConfigError([`Expected "limit" to be a whole number from 1, got ${String(limit)}.`])
  const store = await context.store()
  const calls = await store.read(async (db) => {
    await requireThread(db, threadId)
    return listDecidedCalls(db, { threadId, callId: toolCallId, limit: Math.min(limit, LIMITS.longestPage) })
  })
  return calls.flatMap(({ id, name, run, step, started_at: startedAt, decision }) =>
    decision === null
      ? []
      : [
          {
            toolCallId: id,
            toolName: name,
            runId: runIdOf(run),
            stepId: stepIdOf(run, step),
            startedAt,
            ...decision,
          },
        ],
  )
}
